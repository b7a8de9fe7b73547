// SPDX-License-Identifier: GPL-2.0-or-later
//
// Text of the statistics file, for people and for tests that search for a line.
#include "machine/timing/miss_file.h"
#include "machine/timing/model.h"

#include <inttypes.h>

static void write_vcpu(FILE* file, const struct vcpu* vcpu) {
  const struct vcpu_counters* c = &vcpu->counters;
  fprintf(file,
          "  vcpu %u accesses %" PRIu64 " l1-misses %" PRIu64 " l2-misses %" PRIu64
          " elsewhere %" PRIu64 " kernel-charges %" PRIu64 " slept %.6f s in %" PRIu64
          " naps, modelled %.6f s, emulated %.6f s, lagged %.6f s, late %.6f s\n",
          vcpu->number, c->accesses, c->l1_misses, c->l2_misses, c->elsewhere, c->kernel_charges,
          c->slept * 1e-9, c->naps, c->modelled * 1e-9, c->emulated * 1e-9, c->lagged * 1e-9,
          c->late * 1e-9);
  for (int n = 0; n < k_max_nodes; n++) {
    const struct node_counters* node = &c->node[n];
    if (node->reads + node->writes + node->write_backs == 0) continue;
    fprintf(file,
            "    node %d reads %" PRIu64 " writes %" PRIu64 " streamed %" PRIu64
            " write-backs %" PRIu64 " wait %.6f s of it queue %.6f s\n",
            n, node->reads, node->writes, node->streamed, node->write_backs, node->wait * 1e-9,
            node->queue * 1e-9);
  }
}

void statistics_write(struct model* model, uint32_t mark) {
  FILE* file = model->statistics;
  unsigned epoch = atomic_load(&model->epoch);
  if (mark == MISS_SECTION_END)
    fprintf(file, "end");
  else
    fprintf(file, "mark %u", mark);
  fprintf(file, " dilation %g (all times real, dilated)\n", model->configuration.dilation);
  if (model->kernel) {
    char text[512];
    kernel_model_describe(model->kernel, text, sizeof text);
    fprintf(file, "  kernel: %s\n", text);
  }
  if (model->events) {
    uint64_t misses, recorded, lost;
    events_totals(model->events, &misses, &recorded, &lost);
    fprintf(file,
            "  events: user misses %" PRIu64 " recorded %" PRIu64 " lost %" PRIu64
            ", on pages made for nobody %" PRIu64 "\n",
            misses, recorded, lost, made_pages_unplaced(model->pages));
  }
  for (uint32_t v = 0; v < model->configuration.vcpus; v++)
    if (model->vcpus[v].epoch == epoch && model->vcpus[v].counters.accesses)
      write_vcpu(file, &model->vcpus[v]);
  fflush(file);
}
