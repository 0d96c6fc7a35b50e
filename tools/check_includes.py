#!/usr/bin/env python3
"""Checks that includes follow the layers, and that CMake's link edges are the same.

Usage: check_includes.py [ROOT]. Prints FILE:LINE: what is wrong and what to do; exits 1 when anything is.
"""

import pathlib
import re
import sys

import source_tree

# What each module may include, besides itself and base. This is the table that the design speaks of.
ALLOWED = {
    "base": set(),
    "images": {"config"},
    "codec": set(),
    "layout": set(),
    "config": set(),
    "protocol": set(),
    "optim": set(),
    "ledger": set(),
    "store": {"layout", "codec"},
    "model": {"layout", "store", "config"},
    "wire": {"protocol", "codec", "layout", "ledger"},
    "coordinator": {"protocol", "wire", "codec", "layout", "optim", "ledger", "store", "config"},
    "worker": {"protocol", "wire", "codec", "layout", "ledger", "config"},
    "train": {"codec", "layout", "ledger", "worker", "config", "model", "images"},
    "analysis": {"ledger"},
    "report": {"analysis", "ledger"},
    "web": {"report", "analysis", "ledger"},
    "doctor": {"codec", "config", "store", "report", "worker"},
    "cli": None,  # anything
}

# Of these modules only the named headers may be included. They hold nothing to link.
ONLY_HEADERS = {
    ("train", "worker"): {"worker/local_trainer.h", "worker/model_copy.h"},
    ("train", "ledger"): {"ledger/confusion.h", "ledger/data_facts.h"},
}

# Libraries with a border: include pattern, pattern of names in CMake, modules that may use it.
LIBRARIES = [
    ("gRPC and its messages", r"grpc|(?!report/|google/).*\.pb\.h$", r"grpc|interlude_proto",
     {"wire", "coordinator", "worker"}),
    # report/ writes traces in other programs' schemas.
    ("protobuf", r"google/protobuf/|report/.*\.pb\.h$", r"protobuf|trace_proto",
     {"wire", "coordinator", "worker", "report"}),
    ("SQLite", r"sqlite3\.h$|SQLiteCpp/", r"sqlite", {"ledger"}),
    ("LibTorch", r"(torch|ATen|c10|caffe2)/", r"torch", {"train"}),
    ("libvips", r"vips/", r"vips", {"images"}),
    ("libmicrohttpd", r"microhttpd\.h$", r"microhttpd", {"web"}),
    ("toml++", r"toml\+\+/", r"tomlplusplus", {"config"}),
]

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')
CMAKE_CALL = re.compile(r"\b(interlude_module|interlude_test)\s*\(([^)]*)\)", re.S)
CMAKE_KEYWORDS = {"SOURCES", "INTERLUDE_DEPS", "DEPS", "LIBS", "PRIVATE_LIBS", "LABELS", "TIMEOUT", "WHOLE"}


def allows(module, other):
    """Whether `module` may include headers of `other`."""
    allowed = ALLOWED[module]
    return other in (module, "base") or allowed is None or other in allowed


def library_problem(module, include):
    for name, pattern, _, users in LIBRARIES:
        if re.match(pattern, include) and module not in users:
            return f"{name} ({include}) belongs only in {', '.join(sorted(users))}"
    return None


def include_problem(module, quoted, include):
    """What is wrong with one include of a file of `module`, or None."""
    problem = library_problem(module, include)
    if problem or not quoted or include.endswith(".pb.h"):
        return problem
    other = include.split("/")[0]
    if "/" not in include:
        return f'write "{module}/{include}": includes are from src/'
    if other not in ALLOWED:
        return None  # a library's
    if not allows(module, other):
        return f"{module} may not include {other}; see ALLOWED in tools/check_includes.py"
    only = ONLY_HEADERS.get((module, other))
    if only and include not in only:
        return f"{module} may include of {other} only {', '.join(sorted(only))}"
    return None


def check_sources(root):
    """Problems of all includes, and for each module the modules that its own (not test) sources include."""
    problems, used = [], {}
    for path in source_tree.files(root, "src", suffixes=(".h", ".cc")):
        module = path.parts[1]
        if len(path.parts) < 3:
            problems.append(f"{path}:1: sources belong in a module's folder")
            continue
        if module not in ALLOWED:
            problems.append(f"{path}:1: module {module} is not in ALLOWED in tools/check_includes.py")
            continue
        for number, line in source_tree.lines(root, path):
            match = INCLUDE.match(line)
            if not match:
                continue
            include = match.group(2)
            problem = include_problem(module, match.group(1) == '"', include)
            if problem:
                problems.append(f"{path}:{number}: {problem}")
            other = include.split("/")[0]
            header_only = include in ONLY_HEADERS.get((module, other), ())
            if other in ALLOWED and other != module and not path.name.endswith("_test.cc") and not header_only:
                used.setdefault(module, {}).setdefault(other, f"{path}:{number}")
    return problems, used


def cmake_calls(text):
    """(line, function, target, {keyword: [values]}) of each interlude_module and interlude_test."""
    text = re.sub(r"#[^\n]*", "", text)
    for match in CMAKE_CALL.finditer(text):
        words = match.group(2).split()
        arguments, keyword = {}, None
        for word in words[1:]:
            if word in CMAKE_KEYWORDS:
                keyword = word
                arguments.setdefault(keyword, [])
            elif keyword:
                arguments[keyword].append(word.strip('"'))
        yield text.count("\n", 0, match.start()) + 1, match.group(1), words[0], arguments


def check_cmake(root, used):
    problems, calls, folder_of = [], [], {}
    for path in source_tree.files(root, "src", suffixes=("CMakeLists.txt",)):
        if len(path.parts) < 3 or path.parts[1] not in ALLOWED:
            continue
        for line, function, target, arguments in cmake_calls((root / path).read_text()):
            calls.append((path, line, function, target, arguments))
            if function == "interlude_module":
                folder_of[target] = path.parts[1]
    for path, line, function, target, arguments in calls:
        module = path.parts[1]
        place = f"{path}:{line}"
        for dep in arguments.get("INTERLUDE_DEPS", []) + arguments.get("DEPS", []):
            if not allows(module, folder_of.get(dep, dep)) or (module, dep) in ONLY_HEADERS:
                problems.append(f"{place}: {target} may not link {dep}")
        for library in arguments.get("LIBS", []) + arguments.get("PRIVATE_LIBS", []):
            for name, _, pattern, users in LIBRARIES:
                if re.search(pattern, library, re.I) and module not in users and module != "cli":
                    problems.append(f"{place}: {target} links {library}; {name} belongs only in "
                                    f"{', '.join(sorted(users))}")
        if function == "interlude_module" and target == module:
            declared = arguments.get("INTERLUDE_DEPS", [])
            for other, where in sorted(used.get(module, {}).items()):
                if other not in declared and not (other == "base" and declared):
                    problems.append(f"{place}: INTERLUDE_DEPS of {target} lacks {other}, which {where} includes")
    return problems


def check(root):
    root = pathlib.Path(root)
    problems, used = check_sources(root)
    return problems + check_cmake(root, used)


if __name__ == "__main__":
    default_root = pathlib.Path(__file__).resolve().parent.parent
    sys.exit(source_tree.report(check(sys.argv[1] if len(sys.argv) > 1 else default_root)))
