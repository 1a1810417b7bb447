// write_npy: what is written reads back, whatever the strides, and a write that fails leaves what was there.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <vector>

#include <tilewright/matrix.hpp>
#include <tilewright/npy.hpp>

#include "tests/core/errors.hpp"
#include "tests/io/files.hpp"

namespace tilewright {
namespace {

class NpyWrite : public Folder {};

/// A limit on the size of files, which stands in for a full disk.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes, bool kill) {
    handler_ = std::signal(SIGXFSZ, kill ? SIG_DFL : SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &old_);
    rlimit low = old_;
    low.rlim_cur = bytes;
    setrlimit(RLIMIT_FSIZE, &low);
  }
  FileSizeLimit(const FileSizeLimit&) = delete;
  FileSizeLimit& operator=(const FileSizeLimit&) = delete;
  ~FileSizeLimit() {
    setrlimit(RLIMIT_FSIZE, &old_);
    std::signal(SIGXFSZ, handler_);
  }

 private:
  rlimit old_ = {};
  void (*handler_)(int) = nullptr;
};

const std::vector<float> six = {1, 2, 3, 4, 5, 6};
const MatrixView matrix = view_of(six.data(), 2, 3, 3);

TEST_F(NpyWrite, WritesTheBytesThatNumPyWrites) {
  write_npy(path("x.npy"), matrix);
  EXPECT_EQ(bytes_of(path("x.npy")), npy_bytes("<f4", "(2, 3)", raw<float>({1, 2, 3, 4, 5, 6})));
  EXPECT_EQ(entries(), 1) << "no temporary file stays";
}

TEST_F(NpyWrite, EveryTypeHasItsName) {
  const auto descr = [&](DType type) {
    const std::vector<double> memory(2);
    write_npy(path("x.npy"), {memory.data(), type, 1, 2, 2, 1});
    const std::string bytes = bytes_of(path("x.npy"));
    EXPECT_EQ(bytes.size(), 128u + 2 * static_cast<std::size_t>(size_of(type)));
    return bytes.substr(21, 3);
  };
  EXPECT_EQ(descr(DType::f16), "<f2");
  EXPECT_EQ(descr(DType::bf16), "<V2");
  EXPECT_EQ(descr(DType::f32), "<f4");
  EXPECT_EQ(descr(DType::f64), "<f8");
}

TEST_F(NpyWrite, StridesOfAnySignAreWrittenRowByRow) {
  const auto written = [&](const MatrixView& view) {
    write_npy(path("x.npy"), view);
    return bytes_of(path("x.npy")).substr(128);
  };
  EXPECT_EQ(written(matrix.transposed()), raw<float>({1, 4, 2, 5, 3, 6}));
  EXPECT_EQ(written(matrix.flipped_cols()), raw<float>({3, 2, 1, 6, 5, 4}));
  EXPECT_EQ(written(matrix.flipped_rows()), raw<float>({4, 5, 6, 1, 2, 3}));
  EXPECT_EQ(written(matrix.slice(parse_slices(":,::2"))), raw<float>({1, 3, 4, 6}));
  EXPECT_EQ(written(matrix.slice(parse_slices(":,1:2"))), raw<float>({2, 5}));
  EXPECT_EQ(written(matrix.slice(parse_slices("1:,:")).broadcast_to(2, 3)), raw<float>({4, 5, 6, 4, 5, 6}));
}

TEST_F(NpyWrite, MatricesOfManyChunksAreWhole) {
  // 1301 x 1103 floats are more than five chunks, whose borders fall within rows.
  Matrix large(1301, 1103, DType::f32);
  for (i64 i = 0; i < large.rows() * large.cols(); ++i) large.elements<float>()[i] = static_cast<float>(i);
  for (const MatrixView& view : {MatrixView(large), MatrixView(large).transposed(), MatrixView(large).flipped_rows(),
                                 MatrixView(large).slice(parse_slices("1:,:-3"))}) {
    write_npy(path("x.npy"), view);
    const NpyMatrix read = read_npy(path("x.npy"));
    ASSERT_EQ(read.view().rows, view.rows);
    ASSERT_EQ(read.view().cols, view.cols);
    for (i64 i = 0; i < view.rows; ++i) {
      for (i64 j = 0; j < view.cols; ++j) {
        ASSERT_EQ(static_cast<const float*>(read.view().data)[i * view.cols + j],
                  static_cast<const float*>(view.data)[i * view.row_stride + j * view.col_stride])
            << to_string(view) << ": " << i << ", " << j;
      }
    }
  }
}

TEST_F(NpyWrite, EmptyMatricesKeepTheirExtents) {
  write_npy(path("x.npy"), view_of<f16>(nullptr, 0, 7, 7));
  EXPECT_EQ(to_string(read_npy(path("x.npy"))), "0x7 f16, strides (7, 1)");
  write_npy(path("x.npy"), view_of<f16>(nullptr, 7, 0, 0));
  EXPECT_EQ(to_string(read_npy(path("x.npy"))), "7x0 f16, strides (0, 1)");
}

TEST_F(NpyWrite, LongNumbersStillGiveAMultipleOf64) {
  write_npy(path("x.npy"), view_of<f16>(nullptr, 0, INT64_MAX, 1));
  EXPECT_EQ(bytes_of(path("x.npy")).size() % 64, 0u);
  EXPECT_EQ(read_npy(path("x.npy")).view().cols, INT64_MAX);
}

TEST_F(NpyWrite, AFullDiskLeavesTheOldFile) {
  const Matrix large(1024, 1024, DType::f32);
  for (const bool exists : {false, true}) {
    if (exists) file("x.npy", "what was there");
    {
      // Fails within the header, within the first write, and within a chunk of a gathered one.
      for (const rlim_t limit : {64u, 100000u}) {
        const FileSizeLimit full(limit, false);
        for (const MatrixView& view : {large.view(), large.view().transposed()}) {
          expect_error(ErrorCode::file_open, {"x.npy", "cannot be written", "File too large", "unchanged"},
                       [&] { write_npy(path("x.npy"), view); });
        }
      }
    }
    EXPECT_EQ(entries(), exists ? 1 : 0) << "the temporary file is removed";
    if (exists) {
      EXPECT_EQ(bytes_of(path("x.npy")), "what was there");
    }
  }
}

TEST_F(NpyWrite, AKillLeavesTheOldFile) {
  file("x.npy", "what was there");
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    const rlimit no_core = {};
    setrlimit(RLIMIT_CORE, &no_core);
    const Matrix large(1024, 1024, DType::f32);
    const FileSizeLimit deadly(100000, true);
    write_npy(path("x.npy"), large);
    _exit(0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGXFSZ) << status;
  EXPECT_EQ(bytes_of(path("x.npy")), "what was there");
}

TEST_F(NpyWrite, AFileCanReplaceTheOneItWasReadFrom) {
  write_npy(path("x.npy"), matrix);
  const NpyMatrix read = read_npy(path("x.npy"));
  write_npy(path("x.npy"), read.view().transposed());
  EXPECT_EQ(static_cast<const float*>(read.view().data)[1], 2) << "the mapped file is still there";
  EXPECT_EQ(bytes_of(path("x.npy")), npy_bytes("<f4", "(3, 2)", raw<float>({1, 4, 2, 5, 3, 6})));
}

TEST_F(NpyWrite, PermissionsAreTheUsualOnesOrThoseOfTheReplacedFile) {
  const auto mode = [&](const fs::path& file) {
    struct stat status = {};
    EXPECT_EQ(stat(file.c_str(), &status), 0);
    return status.st_mode & 07777;
  };
  const mode_t mask = umask(0027);
  write_npy(path("x.npy"), matrix);
  EXPECT_EQ(mode(path("x.npy")), 0640u);
  ASSERT_EQ(chmod(path("x.npy").c_str(), 0604), 0);
  write_npy(path("x.npy"), matrix);
  umask(mask);
  EXPECT_EQ(mode(path("x.npy")), 0604u);
}

TEST_F(NpyWrite, ASymbolicLinkKeepsPointingToTheFile) {
  file("real.npy", "what was there");
  fs::create_symlink("real.npy", path("link.npy"));
  write_npy(path("link.npy"), matrix);
  EXPECT_TRUE(fs::is_symlink(path("link.npy")));
  EXPECT_EQ(read_npy(path("real.npy")).view().rows, 2);
}

// The file at the end of the links need not exist yet.
TEST_F(NpyWrite, ASymbolicLinkKeepsPointingToAFileThatIsNew) {
  fs::create_directory(path("data"));
  fs::create_directory(path("links"));
  fs::create_symlink("../data/real.npy", path("links/relative.npy"));
  fs::create_symlink("links/relative.npy", path("chain.npy"));
  fs::create_symlink(path("data/other.npy"), path("absolute.npy"));
  for (const char* link : {"chain.npy", "absolute.npy"}) {
    write_npy(path(link), matrix);
    EXPECT_TRUE(fs::is_symlink(path(link))) << link;
    EXPECT_EQ(read_npy(path(link)).view().rows, 2) << link;
  }
  EXPECT_TRUE(fs::is_symlink(path("links/relative.npy")));
  EXPECT_TRUE(fs::is_regular_file(fs::symlink_status(path("data/real.npy"))));
  EXPECT_TRUE(fs::is_regular_file(fs::symlink_status(path("data/other.npy"))));
  EXPECT_EQ(entries(), 4) << "no temporary file is left";
}

TEST_F(NpyWrite, LinksThatLeadNowhereAreRefused) {
  fs::create_symlink("two.npy", path("one.npy"));
  fs::create_symlink("one.npy", path("two.npy"));
  fs::create_symlink("none/x.npy", path("nowhere.npy"));
  expect_error(ErrorCode::file_open, {"one.npy", "symbolic links"}, [&] { write_npy(path("one.npy"), matrix); });
  expect_error(ErrorCode::file_open, {"none/x.npy", "No such file"}, [&] { write_npy(path("nowhere.npy"), matrix); });
  for (const char* link : {"one.npy", "two.npy", "nowhere.npy"}) EXPECT_TRUE(fs::is_symlink(path(link))) << link;
  EXPECT_EQ(entries(), 3);
}

// Renaming asks for the folder's permissions alone. root may write to any file, so a child gives its rights up.
TEST_F(NpyWrite, AReadOnlyFileIsNotReplaced) {
  file("x.npy", "what was there");
  fs::permissions(path("x.npy"), fs::perms::owner_read | fs::perms::group_read | fs::perms::others_read);
  fs::permissions(folder_, fs::perms::all);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    if (geteuid() == 0 && (setgid(65534) != 0 || setuid(65534) != 0)) _exit(3);
    try {
      write_npy(path("y.npy"), matrix);  // the folder can be written to
    } catch (const Error&) {
      _exit(4);
    }
    try {
      write_npy(path("x.npy"), matrix);
    } catch (const Error& error) {
      const std::string_view message = error.what();
      _exit(error.code() == ErrorCode::file_open && message.find("x.npy: the file is read-only") != message.npos ? 0
                                                                                                                 : 5);
    }
    _exit(6);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  EXPECT_EQ(bytes_of(path("x.npy")), "what was there");
  EXPECT_EQ(entries(), 2);
}

TEST_F(NpyWrite, AFileNameIsPrintableInMessages) {
  expect_error(ErrorCode::file_open, {"none\\x0a/x\\x1b.npy"}, [&] { write_npy(path("none\n/x\x1b.npy"), matrix); });
}

TEST_F(NpyWrite, NamesInTheCurrentFolderNeedNoSlash) {
  const fs::path old = fs::current_path();
  fs::current_path(folder_);
  write_npy("x.npy", matrix);
  fs::current_path(old);
  EXPECT_EQ(read_npy(path("x.npy")).view().rows, 2);
}

TEST_F(NpyWrite, TheLongestNameIsWritten) {
  const fs::path longest = path(std::string(251, 'x').append(".npy"));
  write_npy(longest, matrix);
  EXPECT_EQ(read_npy(longest).view().rows, 2);
}

TEST_F(NpyWrite, PlacesThatCannotBeWrittenAreRefused) {
  expect_error(ErrorCode::file_open, {"none/x.npy", "No such file"}, [&] { write_npy(path("none/x.npy"), matrix); });
  expect_error(ErrorCode::file_open, {"not a regular file"}, [&] { write_npy(folder_, matrix); });
  // Renaming over a device would replace the device.
  expect_error(ErrorCode::file_open, {"/dev/null", "not a regular file"}, [&] { write_npy("/dev/null", matrix); });
  expect_error(ErrorCode::file_open, {"cannot be written"}, [&] { write_npy("", matrix); });
  EXPECT_EQ(entries(), 0);
}

TEST_F(NpyWrite, ViewsWithoutMemoryOrSenseAreRefused) {
  expect_error(ErrorCode::null_data, {"2x3 f16", "no memory"},
               [&] { write_npy(path("x.npy"), view_of<f16>(nullptr, 2, 3, 3)); });
  expect_error(ErrorCode::negative_extent, {"-2x3"}, [&] { write_npy(path("x.npy"), view_of(six.data(), -2, 3, 3)); });
  expect_error(ErrorCode::address_range, {"63 bits"},
               [&] { write_npy(path("x.npy"), view_of(six.data(), 2, 3, INT64_MAX)); });
  // One element repeated more often than a file can hold.
  expect_error(ErrorCode::file_open, {"File too large"},
               [&] { write_npy(path("x.npy"), view_of(six.data(), 1, 1, 1).broadcast_to(INT64_MAX, INT64_MAX)); });
  EXPECT_EQ(entries(), 0);
}

RC_GTEST_FIXTURE_PROP(NpyWrite, WhatIsWrittenReadsBack, ()) {
  const DType type = *rc::gen::element(DType::f16, DType::bf16, DType::f32, DType::f64);
  const i64 rows = *rc::gen::inRange<i64>(0, 20), cols = *rc::gen::inRange<i64>(0, 20);
  const i64 size = size_of(type);
  const auto memory = *rc::gen::container<std::vector<unsigned char>>(
      static_cast<std::size_t>(rows * (cols + 2) * size), rc::gen::arbitrary<unsigned char>());
  MatrixView view{memory.data(), type, rows, cols, cols + 2, 1};
  if (*rc::gen::arbitrary<bool>()) view = view.transposed();
  const auto part = [] { return Slice{*rc::gen::inRange<i64>(-4, 4), {}, *rc::gen::element<i64>(-2, -1, 1, 1, 2)}; };
  view = view.slice(part(), part());

  write_npy(path("x.npy"), view);
  const NpyMatrix read = read_npy(path("x.npy"), {.void2_as_bf16 = true});
  RC_ASSERT(read.view().type == type);
  RC_ASSERT(read.view().rows == view.rows && read.view().cols == view.cols);
  const auto at = [&](const MatrixView& v, i64 i, i64 j) {
    return static_cast<const std::byte*>(v.data) + (i * v.row_stride + j * v.col_stride) * size;
  };
  for (i64 i = 0; i < view.rows; ++i) {
    for (i64 j = 0; j < view.cols; ++j) {
      RC_ASSERT(std::memcmp(at(view, i, j), at(read, i, j), static_cast<std::size_t>(size)) == 0);
    }
  }
}

}  // namespace
}  // namespace tilewright
