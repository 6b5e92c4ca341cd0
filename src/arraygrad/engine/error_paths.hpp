// Included before all else in each module of a release build: what is said here of functions that Cython writes.
//
// Each way out of a function with an error ends in __Pyx_AddTraceback. A compiler that knows the function to be cold
// moves all blocks that lead there to a section of their own, so that what runs lies together: a call of a transform
// passes some 200 functions, each a few times, and its time is that of fetching their code.
//
// What setup.py marks as seldom called (packaging/everyday_functions.txt names the others) lies apart as well, and is
// compiled for size.
#pragma once

#if defined(__GNUC__)
#define ARRAYGRAD_SELDOM __attribute__((cold))
__attribute__((cold, unused)) static void __Pyx_AddTraceback(const char*, int, int, const char*);
#else
#define ARRAYGRAD_SELDOM
#endif
