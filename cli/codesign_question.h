#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "advisor/device/calibration.h"
#include "advisor/device/hardware.h"
#include "advisor/report/codesign.h"
#include "cli/codesign_workload.h"
#include "cli/described_model.h"

namespace headwise::cli {

// Of --hardware: the device at hand, and the CPU whether or not there is a GPU.
inline constexpr const char* kLocal = "local";
inline constexpr const char* kLocalCpu = "local-cpu";

/// The flags of `headwise codesign`, as they are typed; empty or 0: not given.
struct CodesignFlags {
  std::string model;
  std::string hardware;
  std::string contexts;
  std::string weights, projections;
  std::string kv_type, q_type;
  std::int64_t gpus = 0;
  std::string plan;
  double balance = 0.0;
  std::string shared_experts;
  double link = 0.0;  ///< GB/s, one direction
  std::string framework;
  std::int64_t batch = 0;
  std::string chunk;
  std::string routing;
  std::int64_t page = 0;
  std::string prefix;
  double reserve = -1.0;  ///< negative: not given
  std::vector<std::string> sweeps;
  std::string sweep_context;
  std::string html;
  WorkloadFlags workload;
  std::vector<std::string> calibrations;
  std::string save_hardware;
  bool json = false;
};

/// The hardware that is asked about; "local" and "local-cpu" are measured now; without a name, the
/// GPU at hand, or one that is assumed, which `input` says.
Hardware asked_hardware(const std::string& name, CodesignInput& input);

/// The calibrations of `hardware` that were named, and those of HEADWISE_CALIBRATION's folder,
/// which `input` lists. Throws Error where a named one is of another system.
std::vector<Calibration> own_calibrations(const std::vector<std::string>& files,
                                          const Hardware& hardware, CodesignInput& input);

/// What the flags leave open is decided here, and listed among the inputs with the reason. Throws
/// CLI::ValidationError for values that cannot be read, Error for what cannot be.
CodesignQuestion read_question(const CodesignFlags& flags, const DescribedModel& model,
                               const Hardware& hardware);

}  // namespace headwise::cli
