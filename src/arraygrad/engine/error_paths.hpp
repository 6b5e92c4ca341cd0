// Included before all else in each module of a release build: what is said here of functions that Cython writes.
//
// Each way out of a function with an error ends in __Pyx_AddTraceback. A compiler that knows the function to be cold
// moves all blocks that lead there to a section of their own, so that what runs lies together: a call of a transform
// passes some 200 functions, each a few times, and its time is that of fetching their code.
#pragma once

#if defined(__GNUC__)
__attribute__((cold, unused)) static void __Pyx_AddTraceback(const char*, int, int, const char*);
#endif
