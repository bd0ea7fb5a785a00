/* Two timestamps in one pool: each recorded sequence writes both anew, and one sequence runs at a time. */
#include "runtime/vulkan/steps.h"

enum { BEGUN, ENDED, N_STAMP };

void timing_new(device_t *self)
{
    const VkQueryPoolCreateInfo info = {.sType = VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO,
                                        .queryType = VK_QUERY_TYPE_TIMESTAMP,
                                        .queryCount = N_STAMP};
    if (self->api.clock_bits == 0) return;
    if (self->api.CreateQueryPool(self->api.device, &info, NULL, &self->clock) != VK_SUCCESS)
        self->clock = NULL;
}

void timing_free(device_t *self)
{
    if (self->clock) self->api.DestroyQueryPool(self->api.device, self->clock, NULL);
}

void timing_begin(const device_t *self, VkCommandBuffer commands)
{
    if (!self->clock) return;
    self->api.CmdResetQueryPool(commands, self->clock, BEGUN, N_STAMP);
    self->api.CmdWriteTimestamp(commands, VK_PIPELINE_STAGE_TOP_OF_PIPE_BIT, self->clock, BEGUN);
}

void timing_end(const device_t *self, VkCommandBuffer commands)
{
    if (!self->clock) return;
    self->api.CmdWriteTimestamp(commands, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT, self->clock, ENDED);
}

double timing_took(device_t *self)
{
    uint64_t stamp[N_STAMP], bits = self->api.clock_bits;
    uint64_t mask = bits < 64 ? ((uint64_t)1 << bits) - 1 : UINT64_MAX;
    if (!self->clock ||
        self->api.GetQueryPoolResults(self->api.device, self->clock, BEGUN, N_STAMP, sizeof stamp,
                                      stamp, sizeof *stamp, VK_QUERY_RESULT_64_BIT) != VK_SUCCESS)
        return -1;
    /* The counter may have begun anew in between. */
    return (double)((stamp[ENDED] - stamp[BEGUN]) & mask) *
           (double)self->api.properties.limits.timestampPeriod * 1e-9;
}
