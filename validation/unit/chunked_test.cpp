// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// In which memory the buffers of an array in chunks are, on nodes that are not there
// (made_up_nodes.hpp): DRAM with the array, HBM that is faster. And the size of chunks by the
// model.
#include "allocators/chunked.hpp"
#include "dram_and_hbm.hpp"
#include "made_up_nodes.hpp"
#include "model/chunk_size.hpp"
#include "platform/usual_figures.hpp"
#include "stderr_of.hpp"

#include <gtest/gtest.h>

#include <cerrno>
#include <cmath>
#include <cstring>
#include <vector>

using namespace omptier;

namespace {

constexpr std::size_t k_mib = 1 << 20;

int no_thread(pthread_t*, void* (*)(void*), void*) {
  return EAGAIN;
}

class ChunkedTest : public ::testing::Test {
protected:
  void SetUp() override {
    before_ = &os();
    calls_ = made_up_nodes::calls();
    replace_os_calls(&calls_);
  }
  void TearDown() override { replace_os_calls(before_); }
  void use(std::size_t hbm_capacity) {
    restart_runtime_for_tests(dram_and_hbm(1024 * k_mib), only(MemoryKind::hbm, hbm_capacity), {},
                              nullptr);
  }
  ChunkedArray describe(std::size_t chunk_rows) {
    array_.assign(16 * k_mib, 'a');
    ChunkedArray array{};
    array.data = array_.data();
    array.rows = array_.size() / 4096;
    array.row_bytes = 4096;
    array.mode = value::read_write;
    array.chunk_rows = chunk_rows;
    return array;
  }
  // Adds 1 to every byte; true if that was done in copies.
  bool visit(const ChunkedArray& array) {
    Result why = Result::success;
    Chunked* chunked = Chunked::begin(array, nullptr, why);
    EXPECT_NE(chunked, nullptr) << static_cast<int>(why);
    if (chunked == nullptr) return false;
    room_then_ = runtime().placer()->ledger().room(MemoryKind::hbm);
    Chunk chunk;
    bool copied = false;
    for (chunked->next(chunk); chunk.data != nullptr; chunked->next(chunk)) {
      copied = chunk.copied != 0;
      kind_ = chunk.kind;
      rows_ = std::max(rows_, chunk.rows);
      for (std::size_t i = 0; i < chunk.rows * chunk.bytes; ++i)
        ++static_cast<char*>(chunk.data)[i];
    }
    Chunked::end(chunked);
    for (const char byte : array_)
      if (byte != 'b') {
        ADD_FAILURE() << "a byte is " << static_cast<int>(byte);
        break;
      }
    return copied;
  }

  std::vector<char> array_;
  std::size_t rows_ = 0, room_then_ = 0;
  int kind_ = -1;
  OsCalls calls_{};
  const OsCalls* before_ = nullptr;
};

TEST_F(ChunkedTest, ChunksPassThroughTheFasterMemory) {
  use(1024 * k_mib);
  EXPECT_TRUE(visit(describe(100)));
  EXPECT_EQ(kind_, static_cast<int>(MemoryKind::hbm));
  EXPECT_EQ(rows_, 100u);
  // Two buffers while it lasts, nothing afterwards.
  Placer& placer = *runtime().placer();
  EXPECT_LE(room_then_, 1024 * k_mib - 2 * 100 * 4096);
  placer.give_back_unused();
  EXPECT_EQ(placer.ledger().room(MemoryKind::hbm), 1024 * k_mib);
  std::string why_not;
  EXPECT_TRUE(placer.is_sound(why_not, true)) << why_not;
}

TEST_F(ChunkedTest, ChosenChunksLeaveRoomToOthers) {
  use(8 * k_mib);
  EXPECT_TRUE(visit(describe(0)));
  EXPECT_LE(rows_ * 4096, 2 * k_mib);
  EXPECT_GE(room_then_, 4 * k_mib);
}

TEST_F(ChunkedTest, WithoutRoomTheArrayItselfIsUsed) {
  use(k_mib / 2);
  EXPECT_FALSE(visit(describe(100))); // 800 KiB
  EXPECT_EQ(kind_, static_cast<int>(MemoryKind::dram));
  use(4096);
  EXPECT_FALSE(visit(describe(0))); // chunks of a page would not pay
  EXPECT_GT(rows_, 1u);
}

TEST_F(ChunkedTest, WithoutAThreadOfOursTheProgramCopies) {
  calls_.start_thread = no_thread;
  use(1024 * k_mib);
  const std::string said = stderr_of([&] { EXPECT_TRUE(visit(describe(100))); });
  EXPECT_NE(said.find("#5071: ompx_chunked_begin: no thread can be started"), said.npos) << said;
}

TEST(ChunkSize, BalancesTheFirstFetchAgainstHandingOver) {
  ChunkTraffic traffic{usual_figures(MemoryKind::nvm), usual_figures(MemoryKind::dram), 1};
  const double byte = chunk_copy_time(traffic);
  ASSERT_GT(byte, 0);
  const auto lost = [&](double array, double chunk) {
    return chunk * byte + array / chunk * k_chunk_hand_over;
  };
  const double large = 1e12, best = chunk_bytes(large, traffic);
  EXPECT_LT(lost(large, best), lost(large, best * 1.1));
  EXPECT_LT(lost(large, best), lost(large, best / 1.1));
  // Of a small array too, handing over takes 1 % of the copying, and 10 % at worst.
  EXPECT_NEAR(k_chunk_hand_over / (chunk_bytes(1e6, traffic) * byte), 0.01, 1e-9);
  EXPECT_NEAR(k_chunk_hand_over / (least_chunk_bytes(traffic) * byte), 0.1, 1e-9);
  ChunkTraffic both = traffic;
  both.back = true;
  EXPECT_GT(chunk_copy_time(both), chunk_copy_time(traffic));
  EXPECT_LT(chunk_bytes(large, both), best);
}

TEST(ChunkSize, AsManyThreadsCopyAsTheMemoryServes) {
  const Figures nvm = usual_figures(MemoryKind::nvm);
  EXPECT_EQ(chunk_copiers(nvm, 1), 1u);
  EXPECT_EQ(chunk_copiers(nvm, 32), 4u);
  const unsigned many = chunk_copiers(nvm, 10'000);
  EXPECT_LT(many, 1000u);
  ChunkTraffic one{nvm, usual_figures(MemoryKind::dram), 1}, all = one;
  all.copiers = many;
  EXPECT_LT(chunk_copy_time(all), chunk_copy_time(one) / 2);
}

} // namespace
