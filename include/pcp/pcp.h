/* libpcp: everything. docs/library.md is the guide, examples/ has programs. */
#ifndef PCP_PCP_H
#define PCP_PCP_H

#include <pcp/device.h>
#include <pcp/error.h>
#include <pcp/generate.h>
#include <pcp/graph.h>
#include <pcp/model.h>
#include <pcp/ops.h>
#include <pcp/plan.h>
#include <pcp/session.h>
#include <pcp/tensor.h>

#endif
