#include <nanobind/nanobind.h>

namespace nb = nanobind;

NB_MODULE(_core, m) { m.attr("abi") = 1; }
