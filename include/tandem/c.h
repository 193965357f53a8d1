/* SPDX-License-Identifier: MIT
 * The library for every other language: plain C11, no exception crosses it, no memory is handed over.
 *
 * A rule is made from its name and options as text. It keeps no state: arrays of state belong to the
 * caller, who asks which ones the next step needs (tandem_v1_needs), fills them with starting values
 * once (tandem_v1_start), and gives them to every step. Another rule with the same options, in another
 * process, goes on from them.
 *
 * Every function that returns tandem_status gives TANDEM_OK or an error code; tandem_v1_error() is
 * then the message, of this thread. A call that fails has changed neither weights nor state.
 *
 * One rule is used by one thread at a time; different rules may be used at the same time. Symbols have
 * the version of the interface in their name; a later version adds symbols and leaves these.
 */
#ifndef TANDEM_C_H
#define TANDEM_C_H

/* NOLINTBEGIN(modernize-*): it is C */
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef int32_t tandem_status;
enum {
  TANDEM_OK = 0,
  TANDEM_INVALID = 1,   /* a name, an option, a size, a pointer */
  TANDEM_NONFINITE = 2, /* NaN or infinity in a gradient, or a rate beyond what weights can take */
  TANDEM_STATE = 3,     /* memory for the state: missing, too small, of another type, impossible */
  TANDEM_MEMORY = 4,    /* memory ran out, or Full-TO's memory_limit */
  TANDEM_INTERNAL = 5   /* a defect of the library */
};

/* Types of elements. */
enum { TANDEM_FLOAT32 = 0, TANDEM_FLOAT64 = 1, TANDEM_BFLOAT16 = 2, TANDEM_UINT64 = 3 };

/* A rule with its options and workspace. */
typedef struct tandem_rule tandem_rule;

typedef struct {
  const char* name;
  const char* value;
} tandem_option;

/* A part of a model's weights with its gradient: a tensor. A null gradient leaves it out of the step,
 * if there are others. Where `size` is 0, both pointers may be null. */
typedef struct {
  void* weights;
  const void* gradient;
  size_t size; /* elements */
} tandem_segment;

/* Memory for one array of state: `parts` places, `data[p]` with room for `counts[p]` elements. More
 * room and more parts than needed are fine. Nothing that is written may overlap anything else. */
typedef struct {
  const char* name;
  int32_t type;
  int32_t reserved; /* 0 */
  size_t parts;
  void* const* data;
  const size_t* counts;
} tandem_array;

/* An array that the next step needs. What it points to is the rule's, until the next call of
 * tandem_v1_needs or tandem_v1_destroy. */
typedef struct {
  const char* name;
  int32_t type;
  int32_t like_weights; /* 1: a part for each segment, of its size */
  size_t parts;
  const size_t* counts; /* elements of each part */
  /* Of the array "scalars", 8 bytes each: "step:uint64,epoch:uint64,...,delta:float64". Otherwise
   * null. */
  const char* elements;
} tandem_need;

/* How float results become bfloat16 weights. */
typedef struct {
  int32_t stochastic; /* 0: to nearest */
  int32_t reserved;   /* 0 */
  uint64_t seed;
} tandem_rounding;

/* Sums over the weights that a step needs before it moves any; may be added up over machines that hold
 * parts of one model. The first tells of gradients that are not finite. */
#define TANDEM_SUMS 8

/* What a trainable rule saw in its last step; NaN otherwise. */
typedef struct {
  double residual_norm;
  double gradient_norm;
  double delta;
} tandem_diagnostics;

/* The version of the library, such as "0.1.0". */
const char* tandem_v1_version(void);
/* The message of the last call of this thread that failed. Never null. */
const char* tandem_v1_error(void);

/* All that is known of a rule as JSON, of all rules as a list where `name` is null. Writes at most
 * `capacity` bytes, the ending 0 among them, and tells in `needed` how many it takes. `buffer` may be
 * null if `capacity` is 0. */
tandem_status tandem_v1_describe(const char* name, char* buffer, size_t capacity, size_t* needed);

/* Makes a rule for segments of these sizes, of which some may be 0. Gives null where it fails. */
tandem_status tandem_v1_create(const char* name, const tandem_option* options, size_t option_count,
                               const size_t* sizes, size_t segment_count, tandem_rule** rule);
/* Null is fine. */
void tandem_v1_destroy(tandem_rule* rule);

/* Other options from the next step on: what is not named gets its default. What the shape of the state
 * depends on (block, form, normalize, state, ...) cannot change. */
tandem_status tandem_v1_set_options(tandem_rule* rule, const tandem_option* options,
                                    size_t option_count);
/* "lr", "alpha", "beta", "weight_decay" or "l2" from the next step on: a number. */
tandem_status tandem_v1_set_rate(tandem_rule* rule, const char* option, double value);
/* "lr", "alpha" or "beta" as a schedule: "0.1*0.95^epoch". */
tandem_status tandem_v1_set_schedule(tandem_rule* rule, const char* option, const char* schedule);
/* A segment's own rate and decoupled weight decay; NaN: the rule's. */
tandem_status tandem_v1_set_segment(tandem_rule* rule, size_t segment, double lr,
                                    double weight_decay);
/* The number of a segment's first element among all weights of a model whose parts are on several
 * machines: the noise of stochastic rounding depends on it. Otherwise as the segments follow each
 * other. */
tandem_status tandem_v1_set_first_element(tandem_rule* rule, size_t segment, uint64_t number);

/* The value of a schedule ("0.1*0.95^epoch") in a step, from 1, of an epoch, from 0. */
tandem_status tandem_v1_schedule(const char* schedule, uint64_t step, uint64_t epoch,
                                 double* value);

/* Threads: `task(argument, i)` is called for each i < count, in any order, by any threads; returns
 * when all are done; does not fail. */
typedef void (*tandem_run)(void* context, size_t count, void (*task)(void* argument, size_t i),
                           void* argument);
/* The caller's threads for this rule. A null `run`: so many threads of the library's pool (0: as many
 * as there are). Results do not depend on it. */
tandem_status tandem_v1_set_threads(tandem_rule* rule, int32_t threads, tandem_run run,
                                    void* context);

/* The arrays that the next step on weights of this type needs: for a new state where `array_count` is
 * 0, or for the one in `arrays`, of which only "scalars" is read. Ask again before a step where a rule
 * has state that grows (Full-TO); other rules always need the same. */
tandem_status tandem_v1_needs(tandem_rule* rule, int32_t type, const tandem_array* arrays,
                              size_t array_count, const tandem_need** needs, size_t* need_count);
/* Fills new arrays with starting values. */
tandem_status tandem_v1_start(tandem_rule* rule, int32_t type, const tandem_array* arrays,
                              size_t array_count);

/* One step. `rounding` may be null; it is of bfloat16 weights. */
tandem_status tandem_v1_step(tandem_rule* rule, int32_t type, const tandem_segment* segments,
                             size_t segment_count, const tandem_array* arrays, size_t array_count,
                             const tandem_rounding* rounding);
/* The same in two phases: sums over what is here, to which those of other machines are added element
 * by element, and the step. Nothing is moved or written in the first, and what of the step can fail
 * fails there: to make the steps of several rules one, gather all, then apply all. */
tandem_status tandem_v1_gather(tandem_rule* rule, int32_t type, const tandem_segment* segments,
                               size_t segment_count, const tandem_array* arrays, size_t array_count,
                               double sums[TANDEM_SUMS]);
tandem_status tandem_v1_apply(tandem_rule* rule, int32_t type, const tandem_segment* segments,
                              size_t segment_count, const tandem_array* arrays, size_t array_count,
                              const tandem_rounding* rounding, const double sums[TANDEM_SUMS]);

/* Of the last step that was made with this rule; NaN before the first. */
tandem_status tandem_v1_last(const tandem_rule* rule, tandem_diagnostics* last);

#ifdef __cplusplus
}
#endif

/* NOLINTEND(modernize-*) */
#endif /* TANDEM_C_H */
