// The example messages of docs/errors.md are what the library says: each entry about views and files is provoked here,
// and its whole message is looked up on the page.
#include <unistd.h>

#include <functional>

#include <tilewright/matrix.hpp>
#include <tilewright/npy.hpp>

#include "tests/core/errors.hpp"
#include "tests/io/files.hpp"

namespace tilewright {
namespace {

/// Works in its folder, so that messages name files as the page does.
class CatalogueExample : public Folder {
 protected:
  CatalogueExample() : old_(fs::current_path()) { fs::current_path(folder_); }
  ~CatalogueExample() override { fs::current_path(old_); }

  void expect_on_page(ErrorCode code, const std::function<void()>& call) const {
    static const std::string page = bytes_of(TILEWRIGHT_SOURCE_DIR "/docs/errors.md");
    const std::size_t section = page.find("### `" + std::string(name_of(code)) + "`");
    ASSERT_NE(section, std::string::npos);
    try {
      call();
      ADD_FAILURE() << "nothing was thrown";
    } catch (const Error& error) {
      EXPECT_EQ(name_of(error.code()), name_of(code));
      const std::string line = "- **Message:** `" + std::string(error.what()) + "`\n";
      const std::size_t found = page.find(line, section);
      EXPECT_TRUE(found != std::string::npos && found < page.find("### `", section + 1))
          << "docs/errors.md lacks: " << line;
    }
  }

  fs::path old_;
};

TEST_F(CatalogueExample, Views) {
  const float element = 0;
  const MatrixView two_by_three = view_of(&element, 2, 3, 3);
  expect_on_page(ErrorCode::negative_extent, [&] { byte_range(view_of(&element, -1, 3, 3)); });
  expect_on_page(ErrorCode::address_range, [&] { byte_range(view_of(&element, 2, 1, INT64_MAX)); });
  expect_on_page(ErrorCode::slice_syntax, [] { parse_slices("3"); });
  expect_on_page(ErrorCode::slice_step_zero, [] { parse_slices(":,1:2:0"); });
  expect_on_page(ErrorCode::broadcast, [&] { two_by_three.broadcast_to(4, 3); });
  expect_on_page(ErrorCode::null_data, [] { write_npy("x.npy", view_of<f16>(nullptr, 2, 3, 3)); });
  expect_on_page(ErrorCode::too_large, [] { Matrix(i64{1} << 62, 2, DType::f16); });
}

TEST_F(CatalogueExample, Files) {
  expect_on_page(ErrorCode::file_open, [] { read_npy("a.npy"); });
  const auto on_page = [&](ErrorCode code, const std::string& bytes) {
    file("a.npy", bytes);
    expect_on_page(code, [] { read_npy("a.npy"); });
  };
  on_page(ErrorCode::npy_magic, "PK\x03\x04zip");
  on_page(ErrorCode::npy_version, npy_prefix(npy_dict("<f4", "(2, 3)"), 9));
  on_page(ErrorCode::npy_header, npy_prefix("{'shape': (2, -3), 'descr': '<f4', 'fortran_order': False}"));
  on_page(ErrorCode::npy_type, npy_bytes("<i4", "(2, 3)", ""));
  on_page(ErrorCode::npy_rank, npy_bytes("<f4", "(6,)", ""));
  on_page(ErrorCode::npy_size, npy_bytes("<f2", "(128, 1024)", std::string(131072, '\0')));
}

}  // namespace
}  // namespace tilewright
