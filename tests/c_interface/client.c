/* SPDX-License-Identifier: MIT */
#include "tests/c_interface/client.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_ARRAYS = 16, MOST_OPTIONS = 8, MOST_SEGMENTS = 16, MOST_THREADS = 8 };

struct client {
  tandem_rule* rule;
  const char* name;
  tandem_option options[MOST_OPTIONS];
  size_t option_count;
  size_t sizes[MOST_SEGMENTS];
  size_t segment_count;
  int32_t type;
  tandem_array arrays[MOST_ARRAYS];
  size_t array_count;
  int started;
  size_t epoch; /* where "scalars" has it */
  int32_t threads;
  size_t calls;
};

static size_t bytes_of(int32_t type) {
  return type == TANDEM_FLOAT32 ? 4 : type == TANDEM_BFLOAT16 ? 2 : 8;
}

static void* allocate(size_t bytes) {
  void* memory = malloc(bytes > 0 ? bytes : 1);
  if (memory == NULL) abort();
  memset(memory, 0x7B, bytes); /* not zeros: what a rule does not fill is seen */
  return memory;
}

static void* copy_of(const void* from, size_t bytes) {
  void* copy = allocate(bytes);
  if (bytes > 0) memcpy(copy, from, bytes);
  return copy;
}

client* client_open(const char* name, const tandem_option* options, size_t option_count,
                    const size_t* sizes, size_t segment_count, int32_t type) {
  client* it;
  if (option_count > MOST_OPTIONS || segment_count > MOST_SEGMENTS) abort();
  it = calloc(1, sizeof *it);
  if (it == NULL) abort();
  it->name = name;
  it->option_count = option_count;
  if (option_count > 0) memcpy(it->options, options, option_count * sizeof *options);
  it->segment_count = segment_count;
  memcpy(it->sizes, sizes, segment_count * sizeof *sizes);
  it->type = type;
  if (tandem_v1_create(name, options, option_count, sizes, segment_count, &it->rule) != TANDEM_OK) {
    free(it);
    return NULL;
  }
  return it;
}

static void free_array(tandem_array* array) {
  size_t p;
  for (p = 0; p < array->parts; ++p) free(array->data[p]);
  free((void*)array->data);
  free((void*)array->counts);
  free((void*)array->name);
}

void client_close(client* it) {
  size_t i;
  if (it == NULL) return;
  for (i = 0; i < it->array_count; ++i) free_array(&it->arrays[i]);
  tandem_v1_destroy(it->rule);
  free(it);
}

client* client_resume(client* from) {
  size_t i, p;
  client* to = client_open(from->name, from->options, from->option_count, from->sizes,
                           from->segment_count, from->type);
  if (to == NULL) return NULL;
  for (i = 0; i < from->array_count; ++i) {
    const tandem_array* array = &from->arrays[i];
    void** data = allocate(array->parts * sizeof *data);
    for (p = 0; p < array->parts; ++p) {
      data[p] = copy_of(array->data[p], array->counts[p] * bytes_of(array->type));
    }
    to->arrays[i] = *array;
    to->arrays[i].name = copy_of(array->name, strlen(array->name) + 1);
    to->arrays[i].data = data;
    to->arrays[i].counts = copy_of(array->counts, array->parts * sizeof *array->counts);
  }
  to->array_count = from->array_count;
  to->started = from->started;
  to->epoch = from->epoch;
  return to;
}

/* Where "epoch" stands in "step:uint64,epoch:uint64,...". */
static size_t place_of_epoch(const char* elements) {
  const char* found = strstr(elements, "epoch:");
  size_t place = 0;
  if (found == NULL) abort();
  for (; elements < found; ++elements) place += *elements == ',';
  return place;
}

static tandem_array* find_or_add(client* it, const tandem_need* need) {
  size_t i;
  tandem_array* added;
  for (i = 0; i < it->array_count; ++i) {
    if (strcmp(it->arrays[i].name, need->name) == 0) return &it->arrays[i];
  }
  if (it->array_count == MOST_ARRAYS) abort();
  added = &it->arrays[it->array_count++];
  memset(added, 0, sizeof *added);
  added->name = copy_of(need->name, strlen(need->name) + 1);
  added->type = need->type;
  return added;
}

static void grow(tandem_array* array, const tandem_need* need) {
  void** data;
  size_t p;
  if (array->parts >= need->parts) return;
  data = realloc((void*)array->data, need->parts * sizeof *data);
  if (data == NULL) abort();
  for (p = array->parts; p < need->parts; ++p) {
    data[p] = allocate(need->counts[p] * bytes_of(need->type));
  }
  free((void*)array->counts);
  array->data = data;
  array->counts = copy_of(need->counts, need->parts * sizeof *need->counts);
  array->parts = need->parts;
}

tandem_status client_make_room(client* it) {
  const tandem_need* needs;
  size_t need_count, i;
  tandem_status status =
      tandem_v1_needs(it->rule, it->type, it->arrays, it->array_count, &needs, &need_count);
  if (status != TANDEM_OK) return status;
  for (i = 0; i < need_count; ++i) {
    grow(find_or_add(it, &needs[i]), &needs[i]);
    if (needs[i].elements != NULL) it->epoch = place_of_epoch(needs[i].elements);
  }
  if (it->started) return TANDEM_OK;
  status = tandem_v1_start(it->rule, it->type, it->arrays, it->array_count);
  it->started = status == TANDEM_OK;
  return status;
}

tandem_status client_step(client* it, const tandem_segment* segments,
                          const tandem_rounding* rounding) {
  const tandem_status status = client_make_room(it);
  if (status != TANDEM_OK) return status;
  return tandem_v1_step(it->rule, it->type, segments, it->segment_count, it->arrays,
                        it->array_count, rounding);
}

tandem_status client_step_in_phases(client* it, const tandem_segment* segments,
                                    const tandem_rounding* rounding) {
  double sums[TANDEM_SUMS];
  tandem_status status = client_make_room(it);
  if (status != TANDEM_OK) return status;
  status = tandem_v1_gather(it->rule, it->type, segments, it->segment_count, it->arrays,
                            it->array_count, sums);
  if (status != TANDEM_OK) return status;
  return tandem_v1_apply(it->rule, it->type, segments, it->segment_count, it->arrays,
                         it->array_count, rounding, sums);
}

void client_end_epoch(client* it) {
  size_t i;
  for (i = 0; i < it->array_count; ++i) {
    if (strcmp(it->arrays[i].name, "scalars") == 0) {
      ++((uint64_t*)it->arrays[i].data[0])[it->epoch];
    }
  }
}

typedef struct {
  size_t first, count, stride;
  void (*task)(void*, size_t);
  void* argument;
} share;

static void* work(void* memory) {
  const share* mine = memory;
  size_t i;
  for (i = mine->first; i < mine->count; i += mine->stride) mine->task(mine->argument, i);
  return NULL;
}

static void run(void* context, size_t count, void (*task)(void*, size_t), void* argument) {
  client* it = context;
  pthread_t threads[MOST_THREADS];
  share shares[MOST_THREADS];
  const size_t stride = (size_t)it->threads;
  size_t t;
  ++it->calls;
  for (t = 0; t < stride; ++t) {
    const share mine = {t, count, stride, task, argument};
    shares[t] = mine;
    if (pthread_create(&threads[t], NULL, work, &shares[t]) != 0) abort();
  }
  for (t = 0; t < stride; ++t) pthread_join(threads[t], NULL);
}

tandem_status client_use_own_threads(client* it, int32_t threads) {
  if (threads > MOST_THREADS) abort();
  it->threads = threads;
  return tandem_v1_set_threads(it->rule, threads, run, it);
}

size_t client_calls_of_own_threads(const client* it) { return it->calls; }
tandem_rule* client_rule(client* it) { return it->rule; }
tandem_array* client_arrays(client* it) { return it->arrays; }
size_t client_array_count(const client* it) { return it->array_count; }
