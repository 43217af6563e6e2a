#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace headwise {

enum class FigureSource : std::uint8_t {
  datasheet,
  measured,  ///< on the very device, by Headwise
  measured_elsewhere,
  calculated,
  unverified
};
const char* name_of(FigureSource source);  ///< as the files have it: "measured elsewhere"

/// Another value that is in circulation for the same thing.
struct OtherFigure {
  double value = 0.0;
  FigureSource source = FigureSource::unverified;
  std::string origin, note;  ///< may be empty
};

/// One number about a device, and where it comes from.
struct Figure {
  double value = 0.0;           ///< in the unit of the field; the low end of a range
  std::optional<double> up_to;  ///< its high end
  FigureSource source = FigureSource::unverified;
  std::string origin, note;  ///< may be empty
  std::vector<OtherFigure> others;
};

/// What is said of a GPU or a CPU socket (docs/hardware.md). Absent: not known, or, if `lacks`
/// names it, not there. Rates are of dense products; links count one direction.
struct Hardware {
  enum class Kind : std::uint8_t { gpu, cpu };

  std::string name;    ///< the file's, without .json
  std::string system;  ///< that calibrations are of; the name if the file does not say
  std::string title;   ///< as people call it
  Kind kind = Kind::gpu;
  std::string note;
  std::filesystem::path file;
  std::optional<Figure> memory_bytes_per_s, memory_bytes;
  std::optional<Figure> f32_flops, bf16_flops, fp8_flops, fp4_flops;  ///< a second
  std::optional<Figure> link_bytes_per_s;
  std::optional<Figure> multiprocessors, exp_per_s;
  std::optional<Figure> l2_bytes, last_level_cache_bytes;
  std::optional<Figure> shared_memory_bytes;  ///< of a multiprocessor
  std::vector<std::string> lacks;             ///< the file's field names

  /// The device has no `field`, by its name in the file ("fp8").
  bool has_no(std::string_view field) const;
};

/// `name` is that of a file that list_hardware knows, in capitals or not, or a path: it has a slash
/// or ends in .json.
/// Throws Error, one line with the file and the field; an unknown name's lists the known ones.
Hardware read_hardware(const std::string& name);

/// The files of the folder that HEADWISE_HARDWARE names, if it is set, and those that come with
/// Headwise, which the former hide.
std::vector<std::filesystem::path> list_hardware();

}  // namespace headwise
