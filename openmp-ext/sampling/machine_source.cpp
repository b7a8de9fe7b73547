#include "sampling/sources.hpp"
namespace omptier {
std::unique_ptr<SampleSource> open_machine_source(std::string& why) {
  why = "no memory-event unit";
  return nullptr;
}
} // namespace omptier
