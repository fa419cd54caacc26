// The sort order of values: NaN last, as in NumPy.
#pragma once

namespace whence::tracked {

inline bool less(double a, double b) { return a < b || (b != b && a == a); }
inline int order(double a, double b) { return less(a, b) ? -1 : less(b, a) ? 1 : 0; }

}  // namespace whence::tracked
