// SPDX-License-Identifier: MIT
// A library that is no plug-in, for the test that the program says so.
extern "C" int tandem_plugin_v0() { return 0; }
