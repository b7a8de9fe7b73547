// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Small helpers of the profile tests: a scratch file that removes itself, and a writer on it.
#pragma once

#include "log/reader.hpp"
#include "log/writer.hpp"

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <memory>
#include <stdexcept>
#include <string>
#include <unistd.h>
#include <utility>

class ScratchFile {
public:
  ScratchFile() {
    const char* folder = std::getenv("TMPDIR");
    path_ = std::string(folder != nullptr ? folder : "/tmp") + "/omptier-test-XXXXXX";
    const int fd = mkstemp(path_.data());
    if (fd >= 0) close(fd);
  }
  ~ScratchFile() { unlink(path_.c_str()); }
  ScratchFile(const ScratchFile&) = delete;
  ScratchFile& operator=(const ScratchFile&) = delete;
  const std::string& path() const { return path_; }
  std::string bytes() const {
    std::ifstream in(path_, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  }

private:
  std::string path_;
};

// Opens a log in the file; the writer keeps the name, so it must live as long.
inline bool open_log(omptier::LogWriter& writer, const ScratchFile& file) {
  static char path[4096];
  std::snprintf(path, sizeof path, "%s", file.path().c_str());
  return writer.open(path, sizeof path);
}

inline omptier::AccessSample sample_at(std::uint64_t time, std::uint64_t address) {
  omptier::AccessSample sample;
  sample.time = time;
  sample.address = address;
  return sample;
}

// Of a log that can be read.
inline omptier::Profile read_back(const std::string& path) {
  omptier::Parsed<omptier::Profile> profile = omptier::read_profile(path);
  if (!profile) throw std::runtime_error(profile.error());
  return std::move(*profile);
}

inline omptier::RunRecord some_run() {
  omptier::RunRecord run;
  run.host = "node1";
  run.program = "app";
  run.command_line = "./app --size 3";
  run.source = "fake";
  run.source_description = "a fake source";
  run.process = 4711;
  run.rank = 2;
  run.start_time = omptier::ObjectRecord{}.time + 1000;
  run.wall_clock_start = 1700000000;
  run.measure = omptier::Measure::misses;
  run.worst_error = 0.03;
  run.rate = 250;
  return run;
}

// A log in a file of its own, with its first record.
class StartedLog {
public:
  StartedLog() {
    if (!open_log(*writer_, file)) throw std::runtime_error("no log in " + file.path());
    writer_->run(some_run());
  }
  omptier::LogWriter* operator->() { return writer_.get(); }
  const ScratchFile file;

private:
  std::unique_ptr<omptier::LogWriter> writer_ = std::make_unique<omptier::LogWriter>();
};
