// The name that a compiled closure's errors say. All closures of one `def` share a PyMethodDef and thereby its name.
#pragma once
#include <Python.h>

#include <map>
#include <mutex>
#include <string>

namespace arraygrad {

// Lets `function`, which Cython made of a closure, call itself `name` where it is
// called wrongly. The definitions stay for ever: there is one per name.
inline void name_method(PyObject* function, const char* name) {
    static std::map<std::string, PyMethodDef> definitions;
    static std::mutex mutex;
    std::lock_guard<std::mutex> guard(mutex);
    auto* method = reinterpret_cast<PyCFunctionObject*>(function);
    auto entry = definitions.emplace(name, *method->m_ml).first;
    entry->second.ml_name = entry->first.c_str();
    method->m_ml = &entry->second;
}

}  // namespace arraygrad
