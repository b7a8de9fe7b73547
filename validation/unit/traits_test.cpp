// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Numbers, validation, names and text form of traits, from DESIGN's list and the header's.
#include "traits/interned.hpp"
#include "traits/trait_set.hpp"
#include "traits/trait_text.hpp"

#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

using namespace omptier;

namespace {

bool any_allocator(OmpValue value) {
  return value != 999;
}

// Empty when accepted, else the warning's text.
std::string refusal(Space space, std::vector<TraitPair> traits, TraitSet* out = nullptr) {
  TraitSet set;
  TraitProblem problem;
  const bool good = read_traits(space, traits, any_allocator, set, problem);
  if (out != nullptr) *out = set;
  return good ? "" : problem.text;
}

int number(TraitKey key) {
  return static_cast<int>(key);
}

TEST(Names, KeysAreInTheDocumentedOrder) {
  const char* order[] = {"access_pattern", "access_stride", "access_mode", "access_frequency",
                         "access_origin",  "importance",    "sensitivity", "placement",
                         "lifetime",       "group",         "label",       "migratable"};
  for (int i = 0; i < 12; ++i) {
    const KeyInfo* key = find_key(5000 + i);
    ASSERT_NE(key, nullptr) << i;
    EXPECT_EQ(key->name, order[i]);
    EXPECT_EQ(find_key(order[i]), key);
    OmpValue expected = 5100 + 20 * static_cast<OmpValue>(i);
    for (const ValueName& value : key->values)
      EXPECT_EQ(value.number, expected++) << key->name << " " << value.name;
  }
  EXPECT_EQ(find_key(5012), nullptr);
  EXPECT_EQ(find_key(15), nullptr);
  EXPECT_EQ(find_key(0), nullptr);
}

TEST(Names, SpacesAndAllocators) {
  EXPECT_EQ(space_of_number(500), Space::automatic);
  EXPECT_EQ(kind_of(Space::dram), MemoryKind::dram);
  EXPECT_EQ(kind_of(Space::cxl), MemoryKind::cxl);
  EXPECT_FALSE(kind_of(Space::automatic));
  EXPECT_FALSE(kind_of(Space::high_bw));
  EXPECT_FALSE(space_of_number(505));
  EXPECT_FALSE(space_of_number(98));
  EXPECT_EQ(space_of_number(0), Space::standard_default); // libomp 19's number
  EXPECT_EQ(space_of_number(99), Space::standard_default); // from LLVM 20 on
  EXPECT_FALSE(space_of_predefined(1)); // libomp's own
  EXPECT_FALSE(space_of_predefined(6));
  EXPECT_EQ(space_of_predefined(4), Space::high_bw);
  EXPECT_EQ(predefined_name(503), "ompx_nvm_mem_alloc");
}

TEST(Validation, EveryNamedValueIsAcceptedByItsKeyOnly) {
  for (const KeyInfo& key : all_keys())
    for (const KeyInfo& other : all_keys())
      for (const ValueName& value : other.values) {
        if (key.form != ValueForm::names) continue;
        bool own = false;
        for (const ValueName& v : key.values)
          own = own || v.number == value.number;
        std::vector<TraitPair> traits = {{number(key.key), value.number}};
        EXPECT_EQ(refusal(Space::hbm, traits).empty(), own) << key.name << " " << value.name;
      }
}

TEST(Validation, DefaultIsAcceptedEverywhere) {
  for (const KeyInfo& key : all_keys())
    EXPECT_EQ(refusal(Space::hbm, {{number(key.key), k_default_value}}), "") << key.name;
}

TEST(Validation, RefusalsNameKeyAndValue) {
  EXPECT_NE(refusal(Space::hbm, {{5012, 7}}).find("5012"), std::string::npos);
  EXPECT_NE(refusal(Space::hbm, {{-1, 7}}).find("-1"), std::string::npos);
  const std::string text = refusal(Space::hbm, {{number(TraitKey::sensitivity), 5103}});
  EXPECT_NE(text.find("sensitivity"), std::string::npos) << text;
  EXPECT_NE(text.find("5103"), std::string::npos) << text;
}

TEST(Validation, NumbersAndSizes) {
  const auto one = [](TraitKey key, OmpValue value) {
    return refusal(Space::nvm, {{number(key), value}}).empty();
  };
  EXPECT_TRUE(one(TraitKey::alignment, 1));
  EXPECT_TRUE(one(TraitKey::alignment, OmpValue{1} << 30));
  EXPECT_FALSE(one(TraitKey::alignment, 48));
  EXPECT_FALSE(one(TraitKey::alignment, 0));
  EXPECT_FALSE(one(TraitKey::pool_size, 0));
  EXPECT_TRUE(one(TraitKey::importance, 1000));
  EXPECT_FALSE(one(TraitKey::importance, 1001));
  EXPECT_TRUE(one(TraitKey::access_frequency, 0));
  EXPECT_TRUE(one(TraitKey::pinned, 1));
  EXPECT_FALSE(one(TraitKey::pinned, 2));
  EXPECT_FALSE(one(TraitKey::fb_data, 999));
}

// Programs compiled with omp.h of LLVM 19 and of 20 and newer come to one library.
TEST(Validation, BothNumbersOfAccess) {
  for (const OmpValue everybody : {7, 19, 22}) {
    TraitSet set;
    TraitProblem problem;
    const TraitPair trait = {number(TraitKey::access), everybody};
    ASSERT_TRUE(read_traits(Space::hbm, {&trait, 1}, nullptr, set, problem)) << everybody;
    EXPECT_EQ(set.access, value::all) << everybody;
  }
  EXPECT_NE(refusal(Space::hbm, {{number(TraitKey::access), 20}}), "");
}

TEST(Validation, TraitsOfDevicesAreTakenWithoutEffect) {
  EXPECT_EQ(refusal(Space::hbm, {{9, 0}, {10, 3}, {11, 20}, {12, 21}, {13, 19}, {14, 4096}}), "");
  EXPECT_NE(refusal(Space::hbm, {{11, 7}}), "");
  EXPECT_NE(refusal(Space::hbm, {{13, 20}}), "");
  EXPECT_NE(refusal(Space::hbm, {{14, 0}}), "");
  EXPECT_NE(refusal(Space::hbm, {{15, 1}}), "");
}

TEST(Validation, Contradictions) {
  EXPECT_NE(refusal(Space::automatic, {{number(TraitKey::placement), value::required}}), "");
  EXPECT_EQ(refusal(Space::automatic, {{number(TraitKey::placement), value::preferred}}), "");
  EXPECT_EQ(refusal(Space::hbm, {{number(TraitKey::placement), value::required}}), "");
  EXPECT_NE(refusal(Space::hbm, {{number(TraitKey::pinned), 1}, {number(TraitKey::migratable), 1}}),
            "");
  EXPECT_EQ(refusal(Space::hbm, {{number(TraitKey::pinned), 1}, {number(TraitKey::migratable), 0}}),
            "");
  EXPECT_NE(refusal(Space::hbm, {{number(TraitKey::access_stride), 64}}), "");
  EXPECT_EQ(refusal(Space::hbm, {{number(TraitKey::access_stride), 64},
                                 {number(TraitKey::access_pattern), value::strided}}),
            "");
}

TEST(Validation, TheLastOfSeveralCounts) {
  TraitSet set;
  EXPECT_EQ(refusal(Space::hbm,
                    {{number(TraitKey::alignment), 64}, {number(TraitKey::alignment), 128}}, &set),
            "");
  EXPECT_EQ(set.alignment, 128u);
  EXPECT_FALSE(set.extended);
}

TEST(InternedNames, SameTextSameValueAndNothingElse) {
  const OmpValue a = intern_name("grid.nuclide-1");
  ASSERT_NE(a, 0u);
  EXPECT_EQ(intern_name("grid.nuclide-1"), a);
  EXPECT_NE(intern_name("grid.nuclide-2"), a);
  EXPECT_STREQ(interned_text(a), "grid.nuclide-1");
  EXPECT_EQ(intern_name(""), 0u);
  EXPECT_EQ(intern_name("a b"), 0u);
  EXPECT_EQ(intern_name(std::string(256, 'x')), 0u);
  EXPECT_NE(intern_name(std::string(255, 'x')), 0u);
  const char pointer[] = "grid.nuclide-1"; // a pointer is not a name
  EXPECT_EQ(interned_text(reinterpret_cast<OmpValue>(&pointer)), nullptr);
  EXPECT_EQ(interned_text(1), nullptr);
  EXPECT_EQ(interned_text(a + 1000000), nullptr);
  EXPECT_EQ(refusal(Space::hbm, {{number(TraitKey::label), a}}), "");
  EXPECT_NE(refusal(Space::hbm, {{number(TraitKey::label), reinterpret_cast<OmpValue>(&pointer)}}),
            "");
}

TEST(InternedNames, ThreadsAgree) {
  std::vector<std::vector<OmpValue>> seen(4);
  std::vector<std::thread> threads;
  for (auto& values : seen)
    threads.emplace_back([&values] {
      for (int i = 0; i < 3000; ++i)
        values.push_back(intern_name("thread.name." + std::to_string(i)));
    });
  for (auto& thread : threads)
    thread.join();
  for (const auto& values : seen)
    EXPECT_EQ(values, seen[0]);
  EXPECT_STREQ(interned_text(seen[0][2999]), "thread.name.2999");
}

struct Text {
  AllocatorText result;
  std::string problem;
};
Text read(const char* text) {
  Text out;
  TraitProblem problem;
  if (!read_allocator_text(text, out.result, problem)) out.problem = problem.text;
  return out;
}

TEST(AllocatorText, WhatConcernsUs) {
  EXPECT_EQ(read("omp_default_mem_alloc").result.length, 0u);
  EXPECT_EQ(read("omp_default_mem_space").result.length, 0u);
  EXPECT_EQ(read("omp_default_mem_alloc_xyz").result.length, 0u);
  EXPECT_EQ(read("omp_high_bw_mem_alloc").result.predefined, 4u);
  EXPECT_EQ(read("omp_thread_mem_alloc").result.predefined, 8u);
  // What libomp reads as well is left to whoever serves the allocator.
  EXPECT_FALSE(read("omp_default_mem_space:alignment=64").result.for_us);
  EXPECT_TRUE(read("omp_default_mem_space:alignment=64K").result.for_us);
  EXPECT_TRUE(read("omp_default_mem_space:lifetime=phase").result.for_us);
  const Text spaced = read("omp_low_lat_mem_space : pool_size = 1G , alignment=2M");
  EXPECT_EQ(spaced.problem, "");
  ASSERT_EQ(spaced.result.trait_count, 2);
  EXPECT_EQ(spaced.result.traits[0].value, std::size_t{1} << 30);
  EXPECT_EQ(spaced.result.traits[1].value, std::size_t{2} << 20);
  EXPECT_EQ(spaced.result.length, 53u);
  EXPECT_EQ(read("1").result.length, 0u);
  EXPECT_EQ(read("").result.length, 0u);
  EXPECT_EQ(read("OMPX_HBM_MEM_ALLOC").result.predefined, 502u);
  EXPECT_EQ(read(" ompx_auto_mem_alloc").result.length, 20u);
}

TEST(AllocatorText, SpacesWithTraits) {
  const Text text = read("ompx_nvm_mem_space:alignment=4K,access_pattern=random,label=table,"
                         "omp_atk_fallback=omp_atv_null_fb,ompx_atk_sensitivity="
                         "ompx_atv_sensitivity_latency");
  EXPECT_EQ(text.problem, "");
  EXPECT_EQ(text.result.space, Space::nvm);
  ASSERT_EQ(text.result.trait_count, 5);
  EXPECT_EQ(text.result.traits[0].value, 4096u);
  EXPECT_EQ(text.result.traits[1].value, 5103u);
  EXPECT_STREQ(interned_text(text.result.traits[2].value), "table");
  EXPECT_EQ(text.result.traits[3].value, value::null_fb);
  EXPECT_EQ(text.result.traits[4].value, 5220u);
  // A standard space with an extended trait is ours too.
  EXPECT_EQ(read("omp_large_cap_mem_space:lifetime=phase").result.space, Space::large_cap);
}

TEST(AllocatorText, Refusals) {
  EXPECT_NE(read("ompx_hbm_mem_spice").problem.find("ompx_hbm_mem_spice"), std::string::npos);
  EXPECT_NE(read("ompx_hbm_mem_space:colour=red").problem.find("colour"), std::string::npos);
  EXPECT_NE(read("ompx_hbm_mem_space:lifetime=long").problem.find("long"), std::string::npos);
  EXPECT_NE(read("ompx_hbm_mem_space:alignment=").problem, "");
  EXPECT_NE(read("ompx_hbm_mem_space:alignment").problem, "");
  EXPECT_NE(read("ompx_hbm_mem_space:pool_size=99999999999999999999").problem, "");
}

} // namespace
