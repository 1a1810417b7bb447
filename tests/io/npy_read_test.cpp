// read_npy: every dialect of the format that is read, and every way in which a file can be wrong.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <vector>

#include <tilewright/npy.hpp>

#include "io/npy_format.hpp"
#include "tests/core/errors.hpp"
#include "tests/core/sanitizer_options.hpp"
#include "tests/io/files.hpp"

namespace tilewright {
namespace {

double element(const MatrixView& view, i64 i, i64 j) {
  const auto* at =
      static_cast<const std::byte*>(view.data) + (i * view.row_stride + j * view.col_stride) * size_of(view.type);
  const auto as = [&]<class E>(E value) {
    std::memcpy(&value, at, sizeof value);
    return value;
  };
  switch (view.type) {
    case DType::f16:
      return to_float(as(f16{}));
    case DType::bf16:
      return to_float(as(bf16{}));
    case DType::f32:
      return as(float{});
    case DType::f64:
      return as(double{});
  }
  return 0;
}

std::vector<double> elements(const MatrixView& view) {
  std::vector<double> result;
  for (i64 i = 0; i < view.rows; ++i) {
    for (i64 j = 0; j < view.cols; ++j) result.push_back(element(view, i, j));
  }
  return result;
}
using Values = std::vector<double>;

const std::string six = raw<float>({1, 2, 3, 4, 5, 6});

class NpyRead : public Folder {
 protected:
  Values values(std::string_view bytes, const NpyOptions& options = {}) const {
    return elements(read_npy(file("x.npy", bytes), options).view());
  }
  /// The errors of a file with this header text and so many bytes of elements.
  void expect_refused(ErrorCode code, std::initializer_list<std::string_view> words, std::string_view header,
                      std::size_t element_bytes = 24) const {
    const std::string bytes = npy_prefix(header) + std::string(element_bytes, '\0');
    SCOPED_TRACE(std::string(header.substr(0, 200)));
    expect_error(code, words, [&] { read_npy(file("x.npy", bytes)); });
    expect_error(code, {path("x.npy").string()}, [&] { read_npy(path("x.npy")); });
  }
};

TEST_F(NpyRead, FloatsOfAllSizes) {
  EXPECT_EQ(values(npy_bytes("<f4", "(2, 3)", six)), (Values{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(values(npy_bytes("<f8", "(1, 2)", raw<double>({0.1, -2}))), (Values{0.1, -2}));
  EXPECT_EQ(values(npy_bytes("<f2", "(2, 1)", raw<u16>({0x3c00, 0xc000}))), (Values{1, -2}));
  const NpyMatrix matrix = read_npy(file("x.npy", npy_bytes("<f4", "(2, 3)", six)));
  EXPECT_EQ(to_string(matrix), "2x3 f32, strides (3, 1)");
}

TEST_F(NpyRead, FortranOrderBecomesStrides) {
  // [[1, 2], [3, 4]] saved in Fortran order; [[1, 3], [2, 4]] would be the transpose.
  const std::string bytes = npy_bytes("<f2", "(2, 2)", raw<u16>({0x3c00, 0x4200, 0x4000, 0x4400}), true);
  const NpyMatrix matrix = read_npy(file("x.npy", bytes));
  EXPECT_EQ(elements(matrix), (Values{1, 2, 3, 4}));
  EXPECT_EQ(to_string(matrix), "2x2 f16, strides (1, 2)");
  EXPECT_EQ(values(npy_bytes("<f4", "(3, 2)", six, true)), (Values{1, 4, 2, 5, 3, 6}));
}

TEST_F(NpyRead, BigEndianIsSwapped) {
  EXPECT_EQ(values(npy_bytes(">f2", "(1, 1)", std::string("\x3c\x00", 2))), (Values{1}));
  EXPECT_EQ(values(npy_bytes(">f4", "(1, 2)", std::string("\x3f\x80\x00\x00\xc0\x00\x00\x00", 8))), (Values{1, -2}));
  EXPECT_EQ(values(npy_bytes(">f8", "(1, 1)", std::string("\x3f\xf0\x00\x00\x00\x00\x00\x00", 8))), (Values{1}));
  EXPECT_EQ(values(npy_bytes(">f2", "(2, 2)", std::string("\x3c\x00\x42\x00\x40\x00\x44\x00", 8), true)),
            (Values{1, 2, 3, 4}));
}

TEST_F(NpyRead, NativeAndUnstatedOrderAreLittleEndian) {
  for (const char* descr : {"=f4", "|f4", "f4"}) {
    EXPECT_EQ(values(npy_bytes(descr, "(2, 3)", six)), (Values{1, 2, 3, 4, 5, 6}));
  }
}

TEST_F(NpyRead, Versions2And3HaveTheValuesOfVersion1) {
  for (const int major : {1, 2, 3}) {
    EXPECT_EQ(values(npy_bytes("<f4", "(2, 3)", six, false, major)), (Values{1, 2, 3, 4, 5, 6}));
  }
}

TEST_F(NpyRead, OtherVersionsAreRefusedByNumber) {
  const std::string dict = npy_dict("<f4", "(2, 3)");
  for (const auto& [major, minor, name] :
       {std::tuple{9, 0, "9.0"}, {0, 0, "0.0"}, {1, 1, "1.1"}, {4, 0, "4.0"}, {255, 255, "255.255"}}) {
    expect_error(ErrorCode::npy_version, {name, "x.npy", "1.0, 2.0 and 3.0"},
                 [&, major = major, minor = minor] { values(npy_prefix(dict, major, minor) + six); });
  }
}

TEST_F(NpyRead, Bf16IsReadOnlyWhenAskedFor) {
  const std::string four = raw<u16>({0x0000, 0x3f80, 0x4000, 0x4040});
  for (const char* descr : {"<V2", "|V2"}) {
    const fs::path x = file("x.npy", npy_bytes(descr, "(2, 2)", four));
    expect_error(ErrorCode::npy_type, {descr, "bfloat16", "--in-dtype bf16", "void2_as_bf16"}, [&] { read_npy(x); });
    const NpyMatrix matrix = read_npy(x, {.void2_as_bf16 = true});
    EXPECT_EQ(matrix.view().type, DType::bf16);
    EXPECT_EQ(elements(matrix), (Values{0, 1, 2, 3}));  // as f16 the second would be 1.875
  }
  // The option says what two void bytes mean, and nothing about other types.
  EXPECT_EQ(read_npy(file("x.npy", npy_bytes("<f2", "(2, 2)", four)), {.void2_as_bf16 = true}).view().type, DType::f16);
  expect_error(ErrorCode::npy_type, {"'|V4'"},
               [&] { values(npy_bytes("|V4", "(2, 1)", four), {.void2_as_bf16 = true}); });
}

TEST_F(NpyRead, LongHeadersAreRead) {
  const std::string dict = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }";
  const auto padded = [&](std::size_t size) { return dict + std::string(size - dict.size() - 1, ' ') + "\n"; };
  for (const std::size_t size : {4096u, 65535u - 10, 65535u}) {
    EXPECT_EQ(values(npy_prefix(padded(size)) + six), (Values{1, 2, 3, 4, 5, 6})) << size;
  }
  EXPECT_EQ(values(npy_prefix(padded(100000), 2) + six), (Values{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(values(npy_prefix(padded(io::npy_header_cap), 3) + six), (Values{1, 2, 3, 4, 5, 6}));
  expect_error(ErrorCode::npy_header, {"1048577 bytes", "at most 1048576"},
               [&] { values(npy_prefix(padded(io::npy_header_cap + 1), 2) + six); });
}

TEST_F(NpyRead, DialectsOfTheHeader) {
  for (const char* header : {
           "{'descr':'<f4','fortran_order':False,'shape':(2,3)}",
           "  { \"shape\" : ( 2 , 3 , ) , \"descr\" : \"<f4\" ,\n\t\"fortran_order\" : False , } \n\n",
           "{'descr': '<f4', 'fortran_order': False, 'shape': (2L, 3L), }\n",
       }) {
    EXPECT_EQ(values(npy_prefix(header) + six), (Values{1, 2, 3, 4, 5, 6})) << header;
  }
}

TEST_F(NpyRead, MisalignedElementsAreCopied) {
  for (std::size_t padding = 0; padding < 8; ++padding) {
    const std::string dict = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3)}" + std::string(padding, ' ');
    const NpyMatrix matrix = read_npy(file("x.npy", npy_prefix(dict) + six));
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(matrix.view().data) % 4, 0u);
    EXPECT_EQ(elements(matrix), (Values{1, 2, 3, 4, 5, 6}));
  }
}

TEST_F(NpyRead, AFileIsMappedAndNotRead) {
  // 64 GiB of zeros that no disk has to hold.
  const std::string prefix = npy_prefix(npy_dict("<f2", "(262144, 131072)"));
  const fs::path x = file("x.npy", prefix);
  ASSERT_EQ(truncate(x.c_str(), static_cast<off_t>(prefix.size()) + (off_t{1} << 36)), 0);
  const NpyMatrix matrix = read_npy(x);
  EXPECT_EQ(element(matrix, 262143, 131071), 0);
  EXPECT_EQ(matrix.view().row_stride, 131072);
}

TEST_F(NpyRead, TheViewOutlivesTheNameOfTheFileAndCopiesShareIt) {
  const fs::path x = file("x.npy", npy_bytes("<f4", "(2, 3)", six));
  NpyMatrix copy;
  {
    const NpyMatrix matrix = read_npy(x);
    copy = matrix;
  }
  fs::remove(x);
  EXPECT_EQ(elements(copy), (Values{1, 2, 3, 4, 5, 6}));
}

TEST_F(NpyRead, EmptyMatrices) {
  const auto shape = [&](std::string_view text, bool fortran = false) {
    return to_string(read_npy(file("x.npy", npy_bytes("<f2", text, "", fortran))));
  };
  EXPECT_EQ(shape("(0, 5)"), "0x5 f16, strides (5, 1)");
  EXPECT_EQ(shape("(5, 0)"), "5x0 f16, strides (0, 1)");
  EXPECT_EQ(shape("(0, 0)", true), "0x0 f16, strides (1, 0)");
  EXPECT_EQ(shape("(0, 9223372036854775807)"), "0x9223372036854775807 f16, strides (9223372036854775807, 1)");
  EXPECT_EQ(shape("(9223372036854775807, 0)", true), "9223372036854775807x0 f16, strides (1, 9223372036854775807)");
}

TEST_F(NpyRead, OtherRanksAreRefusedWithTheReshape) {
  expect_refused(ErrorCode::npy_rank, {"shape ()", "0 axes", "x.reshape(1, 1)"}, npy_dict("<f4", "()"), 4);
  expect_refused(ErrorCode::npy_rank, {"shape (6,)", "1 axis ", "x.reshape(1, -1)", "x.reshape(-1, 1)"},
                 npy_dict("<f4", "(6,)"));
  expect_refused(ErrorCode::npy_rank, {"shape (1, 2, 3)", "3 axes", "x[0]", "x.reshape(-1, x.shape[-1])"},
                 npy_dict("<f4", "(1, 2, 3)"));
}

TEST_F(NpyRead, OtherTypesAreRefusedWithTheConversion) {
  const auto refused = [&](std::string_view descr, std::initializer_list<std::string_view> words) {
    expect_refused(ErrorCode::npy_type, {"'" + std::string(descr) + "'"}, npy_dict(descr, "(2, 3)"));
    expect_refused(ErrorCode::npy_type, words, npy_dict(descr, "(2, 3)"));
  };
  for (const char* descr : {"<i4", "|u1", "|b1", ">i8"}) refused(descr, {"not floats", "astype"});
  refused("<c8", {"complex", "x.real"});
  refused("|O", {"Python objects", "never loaded"});
  refused("<f16", {"another size", "astype"});  // NumPy's 16-byte float, not this library's f16
  refused("|V8", {"raw bytes"});
  refused("<U5", {"astype"});
  refused("", {"astype"});
  refused("<", {"astype"});
  refused("<<f4", {"astype"});
  refused("<f12", {"another size"});
  for (const char* descr :
       {"<f4 ", " f4", "float32", "float64", "f", "<f", "f04", "half", "single", "double", "e", "d"})
    refused(descr, {"an unusual spelling", "'<f2', '<f4', '<f8'", "load the file in NumPy and save it again"});
  expect_refused(ErrorCode::npy_type, {"records", "([('a', '<f4'), ('b', '<f4')])", "x['name']"},
                 "{'descr': [('a', '<f4'), ('b', '<f4')], 'fortran_order': False, 'shape': (2, 3), }");
  expect_refused(ErrorCode::npy_type, {"records", "([('a', '<f4', (3,)), ('b]', [('c', '<f4')])])"},
                 "{'descr': [('a', '<f4', (3,)), ('b]', [('c', '<f4')])], 'fortran_order': False, 'shape': (2, 3), }");
  expect_refused(ErrorCode::npy_type, {"sub-array type ('<f4', (3,))"},
                 "{'descr': ('<f4', (3,)), 'fortran_order': False, 'shape': (2, 3), }");
  expect_refused(ErrorCode::npy_type, {"sub-array", "('<f4', (1,1,1", "..."},
                 "{'descr': ('<f4', (" + std::string(200, '1').replace(1, 6, ",1,1,1") + ",)), 'shape': (2, 3), }");
  expect_refused(ErrorCode::npy_type, {"sub-array", "('<f4', (3,)"}, "{'descr': ('<f4', (3,)");
}

TEST_F(NpyRead, TruncatedFilesNameExpectedAndFoundBytes) {
  const std::string prefix = npy_prefix(npy_dict("<f2", "(128, 1024)"));
  for (const std::size_t found : {262144u / 2, 262143u, 0u}) {
    expect_error(ErrorCode::npy_size, {"x.npy", "expected 262144", "found " + std::to_string(found), "truncated"},
                 [&] { values(prefix + std::string(found, '\0')); });
  }
}

TEST_F(NpyRead, OversizedFilesAreRefused) {
  expect_error(ErrorCode::npy_size, {"x.npy", "expected 24", "found 25", "longer than its header says"},
               [&] { values(npy_bytes("<f4", "(2, 3)", six + "x")); });
  expect_error(ErrorCode::npy_size, {"expected 0", "found 24"}, [&] { values(npy_bytes("<f4", "(0, 3)", six)); });
}

TEST_F(NpyRead, EveryPrefixOfAFileIsRefused) {
  for (const int major : {1, 2}) {
    const std::string whole = npy_bytes("<f4", "(2, 3)", six, false, major);
    for (std::size_t size = 0; size < whole.size(); ++size) {
      const ErrorCode code = size < 6 ? ErrorCode::npy_magic : ErrorCode::npy_size;
      expect_error(code, {"x.npy"}, [&] { values(std::string_view(whole).substr(0, size)); });
    }
  }
  expect_error(ErrorCode::npy_size, {"expected at least 128", "found 100"},
               [&] { values(std::string_view(npy_bytes("<f4", "(2, 3)", six)).substr(0, 100)); });
}

TEST_F(NpyRead, OtherFilesAreRefusedAsSuch) {
  expect_error(ErrorCode::npy_magic, {"not an .npy file", "\"hello \""}, [&] { values("hello world"); });
  expect_error(ErrorCode::npy_magic, {".npz", "numpy.save"}, [&] { values("PK\x03\x04zip"); });
  expect_error(ErrorCode::npy_magic, {"\"\""}, [&] { values(""); });
}

TEST_F(NpyRead, FilesThatCannotBeOpenedAreRefusedWithTheReason) {
  expect_error(ErrorCode::file_open, {"none.npy", "No such file"}, [&] { read_npy(path("none.npy")); });
  expect_error(ErrorCode::file_open, {"not a regular file"}, [&] { read_npy(folder_); });
  ASSERT_EQ(mkfifo(path("pipe").c_str(), 0600), 0);
  expect_error(ErrorCode::file_open, {"not a regular file"}, [&] { read_npy(path("pipe")); });  // and does not wait
}

TEST_F(NpyRead, FilesThatCannotBeMappedOrCopiedAreRefused) {
  const std::string prefix = npy_prefix(npy_dict(">f2", "(16384, 1048576)"));
  const fs::path x = file("x.npy", prefix);
  ASSERT_EQ(truncate(x.c_str(), static_cast<off_t>(prefix.size()) + (off_t{1} << 35)), 0);
  // Limits of the address space, from what the process has already: too little to map, then too little to copy as well.
  i64 pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  const rlim_t used = static_cast<rlim_t>(pages * sysconf(_SC_PAGESIZE)), mapped = rlim_t{1} << 35,
               slack = rlim_t{1} << 30;
  rlimit old = {};
  ASSERT_EQ(getrlimit(RLIMIT_AS, &old), 0);
  rlimit low = old;
  low.rlim_cur = used + slack;
  ASSERT_EQ(setrlimit(RLIMIT_AS, &low), 0);
  expect_error(ErrorCode::file_open, {"cannot be mapped", "memory"}, [&] { read_npy(x); });
  low.rlim_cur = used + mapped + slack;
  ASSERT_EQ(setrlimit(RLIMIT_AS, &low), 0);
  expect_error(ErrorCode::too_large, {"x.npy", "big-endian", "34359738368 bytes"}, [&] { read_npy(x); });
  ASSERT_EQ(setrlimit(RLIMIT_AS, &old), 0);
}

TEST_F(NpyRead, MalformedHeadersNameTheByte) {
  const auto refused = [&](std::string_view header, std::initializer_list<std::string_view> words) {
    expect_refused(ErrorCode::npy_header, words, header);
    expect_refused(ErrorCode::npy_header, {"at byte "}, header);
  };
  refused("", {"ends where a dict", "byte 10"});
  refused("[]", {"\"[]\" where a dict"});
  refused("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3)", {"ends where a comma or }", "byte 66"});
  refused("{'descr': '<f4' 'fortran_order': False}", {"a comma or }", "byte 26"});
  refused("{'descr': '<f4', 'fortran_order': False, }", {"without the key 'shape'"});
  refused("{'fortran_order': False, 'shape': (2, 3)}", {"without the key 'descr'"});
  refused("{'descr': '<f4', 'shape': (2, 3)}", {"without the key 'fortran_order'"});
  refused("{}", {"without the key 'descr'", "byte 12"});
  refused("{,}", {"a key in quotes", "byte 11"});
  refused("{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (2, 3)}", {"'descr' twice", "byte 27"});
  refused("{'descr': '<f4', 'order': 'C', 'fortran_order': False, 'shape': (2, 3)}",
          {"unknown key 'order'", "byte 27"});
  refused("{'descr': '<f4', 'fortran_order': 1, 'shape': (2, 3)}", {"True or False", "byte 44"});
  refused("{'descr': '<f4', 'fortran_order': Falsey, 'shape': (2, 3)}", {"a comma or }"});
  refused("{'descr': <f4, 'fortran_order': False, 'shape': (2, 3)}", {"the element type in quotes"});
  refused("{'descr: '<f4', 'fortran_order': False, 'shape': (2, 3)}", {"unknown key 'descr: '"});
  refused("{'descr", {"closing quote"});
  refused("{'descr': '<f4\", 'fortran_order': False, 'shape': (2, 3)}\n'", {"a comma or }"});
  refused("{'de\\x73cr': '<f4'}", {"\"\\\" within a string"});
  refused("{'descr' '<f4'}", {"a colon"});
  refused("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3)} x", {"goes on after its dict with \"x\""});
  refused(std::string("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3)}\0", 58), {"goes on", "\\x00"});
  // Unprintable and endless text is shown short.
  refused("{'" + std::string(60000, '\xff') + "': 1}", {"unknown key '\\xff\\xff", "..."});
}

TEST_F(NpyRead, MalformedShapesNameTheByte) {
  const auto refused = [&](std::string_view shape, std::initializer_list<std::string_view> words) {
    expect_refused(ErrorCode::npy_header, words,
                   "{'shape': " + std::string(shape) + ", 'descr': '<f4', 'fortran_order': False}");
    expect_refused(ErrorCode::npy_header, {"at byte 2"},
                   "{'shape': " + std::string(shape) + ", 'descr': '<f4', 'fortran_order': False}");
  };
  refused("6", {"a shape such as (2, 3)", "byte 20"});
  refused("[2, 3]", {"a shape such as"});
  refused("(6)", {"a number in parentheses", "(3,)"});
  refused("(-2, 3)", {"negative extent -2", "byte 21"});
  refused("(2, -3)", {"negative extent -3", "byte 24"});
  refused("(2 3)", {"a comma or )", "byte 23"});
  refused("(2,, 3)", {"an extent"});
  refused("(,)", {"an extent"});
  refused("(2.0, 3)", {"a comma or )"});
  refused("(0x2, 3)", {"a comma or )"});
  refused("(1_0, 3)", {"a comma or )"});
  refused("('2', 3)", {"an extent"});
  refused("(02, 3)", {"02 with a leading zero"});
  refused("(2, 9223372036854775808)", {"9223372036854775808, which is 2^63 or more"});
  refused("(0, 99999999999999999999999999999999999999999999999999999999)", {"2^63 or more", "..."});
}

TEST_F(NpyRead, ShapesWhoseBytesOverflowAreRefused) {
  expect_refused(ErrorCode::npy_header, {"(4294967296, 4294967296)", "2^63 bytes or more"},
                 npy_dict("<f2", "(4294967296, 4294967296)"), 0);
  expect_refused(ErrorCode::npy_header, {"2^63 bytes or more"}, npy_dict("<f4", "(9223372036854775807, 1)"), 0);
  // 2^64 * 4 bytes, which is 0 modulo 2^64.
  expect_refused(ErrorCode::npy_header, {"2^63 bytes or more"}, npy_dict("<f4", "(4611686018427387904, 4)"), 0);
  expect_refused(ErrorCode::npy_size, {"expected 9223372036854775806", "found 24"},
                 npy_dict("<f2", "(4611686018427387903, 1)"));
}

RC_GTEST_PROP(NpyHeader, ADamagedHeaderGivesAMatrixOrAnError, ()) {
  // Some bytes of a good file are replaced, most of them by characters that mean something in a header.
  std::string bytes = npy_bytes("<f4", "(2, 3)", six);
  const auto places = *rc::gen::container<std::vector<std::size_t>>(rc::gen::inRange<std::size_t>(0, bytes.size()));
  for (const std::size_t place : places) {
    bytes[place] = *rc::gen::oneOf(rc::gen::elementOf(std::string("{}()[],:'\"0123456789- \n\\<>|=fVTrueFalse")),
                                   rc::gen::arbitrary<char>());
  }
  try {
    const auto span = std::as_bytes(std::span(bytes));
    const io::NpyLayout layout = io::parse_npy_header(span, "x", {});
    io::check_npy_size(layout, static_cast<i64>(span.size()), "x");
    RC_ASSERT(layout.data_offset + layout.data_bytes == static_cast<i64>(span.size()));
    RC_ASSERT(layout.rows * layout.cols * size_of(layout.type) == layout.data_bytes);
  } catch (const Error& error) {
    RC_ASSERT(error.code() >= ErrorCode::npy_magic && error.code() <= ErrorCode::npy_size);
  }
}

}  // namespace
}  // namespace tilewright
