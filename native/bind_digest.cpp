// Bindings for digests of memory.
#include <nanobind/nanobind.h>

#include <cstring>

#include "kernels/digest.hpp"

namespace nb = nanobind;
using namespace nb::literals;

void bind_digest(nb::module_& m) {
  m.def(
      "digest",
      [](nb::handle given) {
        // Any object with contiguous memory; nanobind's own arrays support neither bool nor float16.
        Py_buffer buffer;
        if (PyObject_GetBuffer(given.ptr(), &buffer, PyBUF_SIMPLE)) throw nb::python_error();
        std::array<uint64_t, 2> found;
        if (buffer.len > 1 << 16) {
          nb::gil_scoped_release release;
          found = whence::digest(buffer.buf, static_cast<std::size_t>(buffer.len));
        } else {
          found = whence::digest(buffer.buf, static_cast<std::size_t>(buffer.len));
        }
        PyBuffer_Release(&buffer);
        return nb::bytes(reinterpret_cast<const char*>(found.data()), sizeof(found));
      },
      "memory"_a);
}
