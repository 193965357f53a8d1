/* SPDX-License-Identifier: MIT
 * The optimizers from C: fits a line to points with the rule that is named, on state in memory of this
 * program.
 *
 *   cc -std=c11 c_client.c -ltandem -o c_client && ./c_client diag-to
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tandem/c.h>

enum { POINTS = 64, MOST_ARRAYS = 16 };

static void check(tandem_status status) {
  if (status == TANDEM_OK) return;
  fprintf(stderr, "c_client: %s\n", tandem_v1_error());
  exit(1);
}

static void* allocate(size_t bytes) {
  void* memory = malloc(bytes > 0 ? bytes : 1);
  if (memory == NULL) exit(1);
  return memory;
}

/* Memory for every array that the first step needs. Rules other than Full-TO never need more. */
static size_t make_state(tandem_rule* rule, tandem_array* arrays) {
  const tandem_need* needs;
  size_t count, i, p;
  check(tandem_v1_needs(rule, TANDEM_FLOAT32, NULL, 0, &needs, &count));
  if (count > MOST_ARRAYS) exit(1);
  for (i = 0; i < count; ++i) {
    const tandem_need* need = &needs[i];
    const size_t element = need->type == TANDEM_FLOAT32 ? 4 : need->type == TANDEM_BFLOAT16 ? 2 : 8;
    void** data = allocate(need->parts * sizeof *data);
    size_t* counts = allocate(need->parts * sizeof *counts);
    char* name = allocate(strlen(need->name) + 1);
    for (p = 0; p < need->parts; ++p) {
      counts[p] = need->counts[p];
      data[p] = allocate(counts[p] * element);
    }
    strcpy(name, need->name); /* what needs point to is the rule's */
    arrays[i] = (tandem_array){name, need->type, 0, need->parts, data, counts};
  }
  check(tandem_v1_start(rule, TANDEM_FLOAT32, arrays, count));
  return count;
}

static void free_state(tandem_array* arrays, size_t count) {
  size_t i, p;
  for (i = 0; i < count; ++i) {
    for (p = 0; p < arrays[i].parts; ++p) free(arrays[i].data[p]);
    free((void*)arrays[i].data);
    free((void*)arrays[i].counts);
    free((void*)arrays[i].name);
  }
}

int main(int argc, char** argv) {
  const tandem_option options[] = {{"lr", "0.2*cosine(t/2000)"}};
  const size_t sizes[] = {1, 1};
  float slope = 0, offset = 0, slope_gradient, offset_gradient;
  const tandem_segment model[] = {{&slope, &slope_gradient, 1}, {&offset, &offset_gradient, 1}};
  tandem_array arrays[MOST_ARRAYS];
  tandem_rule* rule;
  size_t array_count;
  int step, i;

  check(tandem_v1_create(argc > 1 ? argv[1] : "adam", options, 1, sizes, 2, &rule));
  array_count = make_state(rule, arrays);
  for (step = 1; step <= 2000; ++step) {
    slope_gradient = offset_gradient = 0;
    for (i = 0; i < POINTS; ++i) { /* of the mean of (slope x + offset - y)^2, y = 2 x - 1 */
      const float x = (float)i / POINTS, residual = slope * x + offset - (2 * x - 1);
      slope_gradient += 2 * residual * x / POINTS;
      offset_gradient += 2 * residual / POINTS;
    }
    check(tandem_v1_step(rule, TANDEM_FLOAT32, model, 2, arrays, array_count, NULL));
  }
  printf("y = %.3f x %+.3f after %d steps\n", slope, offset, step - 1);
  free_state(arrays, array_count);
  tandem_v1_destroy(rule);
  return 0;
}
