#pragma once

// Lacks #include <string>, on purpose: headers_alone_check_works expects its build to fail.
std::string name_of_nothing();
