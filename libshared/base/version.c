#include "base/version.h"

const char pcp_version[] = PCP_VERSION; /* by the Makefile */
