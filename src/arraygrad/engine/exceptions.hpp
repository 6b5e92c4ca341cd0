// try, catch and throw of headers that modules include whose C++ knows no exceptions.
//
// A module through which no exception of C++ passes is compiled without the tables that lead one through a function,
// which are a twentieth of a wheel (setup.py chooses them). What such a module includes and does not call has to compile
// without exceptions as well.
#pragma once

#if defined(__cpp_exceptions)
#define ARRAYGRAD_TRY try
#define ARRAYGRAD_CATCH(what) catch (what)
#define ARRAYGRAD_THROW(what) throw what
#else
#include <cstdlib>
#define ARRAYGRAD_TRY if (true)
#define ARRAYGRAD_CATCH(what) else
#define ARRAYGRAD_THROW(what) std::abort()
#endif
