// SPDX-License-Identifier: MIT
// libarchive unpacks .zip entries that bzip2 packed. Debian's libbz2.a is not position-independent and cannot
// be part of a module, and no data set has such entries: they are refused, in the words of <bzlib.h>.

struct bz_stream;

namespace {
constexpr int kConfigError = -9;    // BZ_CONFIG_ERROR: the library was built without it
constexpr int kSequenceError = -1;  // BZ_SEQUENCE_ERROR: there is no stream
}  // namespace

extern "C" {
// NOLINTBEGIN(readability-identifier-naming)
int BZ2_bzDecompressInit(bz_stream*, int, int) { return kConfigError; }
int BZ2_bzDecompress(bz_stream*) { return kSequenceError; }
int BZ2_bzDecompressEnd(bz_stream*) { return kSequenceError; }
// NOLINTEND(readability-identifier-naming)
}
