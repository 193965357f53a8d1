/* SPDX-License-Identifier: MIT
 * A host in plain C for tests of <tandem/c.h>: it has a rule, and the rule's state in memory from
 * malloc. */
#ifndef TANDEM_TESTS_C_INTERFACE_CLIENT_H
#define TANDEM_TESTS_C_INTERFACE_CLIENT_H

/* NOLINTBEGIN(modernize-*): it is C */
#include <stddef.h>
#include <stdint.h>
#include <tandem/c.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct client client;

/* Null where the rule cannot be made; tandem_v1_error() says why. `type` is that of the weights. */
client* client_open(const char* name, const tandem_option* options, size_t option_count,
                    const size_t* sizes, size_t segment_count, int32_t type);
void client_close(client* it);
/* A new rule with the same options on a copy of the state. */
client* client_resume(client* from);

/* Arrays with room for the next step; what was there stays. */
tandem_status client_make_room(client* it);
/* Room and a step; or the same step in two phases. */
tandem_status client_step(client* it, const tandem_segment* segments,
                          const tandem_rounding* rounding);
tandem_status client_step_in_phases(client* it, const tandem_segment* segments,
                                    const tandem_rounding* rounding);
/* Counts an epoch in the array "scalars". */
void client_end_epoch(client* it);

/* Threads of the client's own: `threads` of them, started for every call. Counts the calls. */
tandem_status client_use_own_threads(client* it, int32_t threads);
size_t client_calls_of_own_threads(const client* it);

/* What it has, for those who want to spoil it. */
tandem_rule* client_rule(client* it);
tandem_array* client_arrays(client* it);
size_t client_array_count(const client* it);

#ifdef __cplusplus
}
#endif

/* NOLINTEND(modernize-*) */
#endif /* TANDEM_TESTS_C_INTERFACE_CLIENT_H */
