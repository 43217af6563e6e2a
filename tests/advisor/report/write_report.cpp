// write_report FILE: the HTML report of the JSON document in FILE, on stdout.
#include <exception>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>

#include "advisor/report/html_report.h"

int main(int count, char** arguments) try {
  if (count != 2) {
    std::cerr << "write_report FILE\n";
    return 2;
  }
  std::ifstream file(arguments[1]);
  std::cout << headwise::html_report(nlohmann::json::parse(file));
  return std::cout.flush() ? 0 : 1;
} catch (const std::exception& error) {
  std::cerr << error.what() << '\n';
  return 1;
}
