// `tilewright gemm` end to end: products against NumPy's, element by element within the library's bound, and every
// promise about files, exit codes and streams.
#include <csignal>
#include <fstream>

#include <gtest/gtest.h>

#include "tests/cli/command.hpp"

namespace tilewright::test {
namespace {

using ::testing::Test;

/// The bound of the project, in NumPy: judge(c, a, b, type of c) is True for a right product.
constexpr const char* judge = R"(
def widened(x, bf16=False):
    if x.dtype.kind == 'V': x = (x.view('<u2').astype('<u4') << 16).view('<f4')
    return x.astype(np.float64)
def judge(c, a, b, type):
    a, b, got = widened(a), widened(b), widened(c)
    exact, size = a @ b, np.abs(a) @ np.abs(b)
    if got.shape != exact.shape or c.dtype != {'f16': np.dtype('<f2'), 'bf16': np.dtype('V2'), 'f32': np.dtype('<f4')}[type]: return False
    n = (a.shape[1] + 2) * 2.0**-24
    unit, eta = {'f16': (2.0**-11, 2.0**-25), 'bf16': (2.0**-8, 2.0**-134), 'f32': (2.0**-24, 2.0**-150)}[type]
    return bool(np.all(np.abs(got - exact) <= n / (1 - n) * size + 1.01 * unit * np.abs(exact) + eta))
def bf16(x):
    bits = x.astype('<f4').view('<u4')
    return ((bits + 0x7fff + ((bits >> 16) & 1)) >> 16).astype('<u2').view('V2')
)";

std::string script(const std::string& text) { return judge + text; }

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

/// Refused: exit code 2, nothing on standard output, one line on standard error.
void expect_refused(const Ran& ran, const std::vector<std::string>& parts) {
  EXPECT_EQ(ran.status, 2) << ran.out << ran.err;
  EXPECT_EQ(ran.out, "");
  EXPECT_TRUE(ran.err.starts_with("tilewright: ")) << ran.err;
  EXPECT_EQ(ran.err.find('\n'), ran.err.size() - 1) << "one line: " << ran.err;
  for (const std::string& part : parts)
    EXPECT_TRUE(contains(ran.err, part)) << "'" << part << "' is not in: " << ran.err;
}

TEST(CommandGemm, AgreesWithNumpyOnSlicesFlipsAndTransposes) {
  Folder folder;
  folder.python(R"(
rng = np.random.default_rng(7)
for type in ('f2', 'f4'):
    np.save(f'a_{type}.npy', rng.uniform(-1, 1, (130, 65)).astype(type))
    np.save(f'b_{type}.npy', rng.uniform(-1, 1, (65, 70)).astype(type))
    np.save(f'f_{type}.npy', np.asfortranarray(rng.uniform(-1, 1, (65, 70)).astype(type)))
    np.save(f'big_{type}.npy', rng.uniform(-1, 1, (150, 200)).astype('>' + type))
)");
  struct Case {
    const char *a, *slice_a;
    bool ta;
    const char *b, *slice_b;
    bool tb;
  };
  const Case cases[] = {
      {"a", "", false, "b", "", false},
      {"a", "", false, "f", "", false},
      {"a", "", false, "a", "", true},
      {"a", "", true, "a", "", false},
      {"b", "", true, "a", "", true},
      {"a", "::-1", false, "b", ":,::-1", false},
      {"a", "::-1,::-1", false, "b", "::-1", false},
      {"a", "3:100:7", false, "b", ":,1::3", false},
      {"a", "100:3:-7,5:", false, "b", "5:,-20:-3", false},
      {"a", ":,::2", false, "b", "::2", false},
      {"a", "::2,1:60", true, "b", "", false},
      {"a", "-65:,2:9", true, "f", ":,::-2", false},
      {"big", "10:75,::-3", true, "a", ":,:65", true},
      {"a", ":,:0", false, "b", "65:", false},
      {"a", "5:5", false, "b", "", false},
      {"a", ":1", false, "b", ":,:1", false},
      {"a", "-1000:1000", false, "b", "-1000:1000", false},
  };
  std::string compare;
  int number = 0;
  for (const std::string type : {"f2", "f4"}) {
    for (const Case& c : cases) {
      const std::string out_dtype = number % 3 == 0 ? "f32" : number % 3 == 1 ? "f16" : "bf16";
      const std::string a = std::string(c.a) + "_" + type + ".npy", b = std::string(c.b) + "_" + type + ".npy";
      const std::string out = "c" + std::to_string(number++) + ".npy";
      const auto numpy = [](const std::string& slices) { return "[" + (slices.empty() ? ":" : slices) + "]"; };
      std::vector<std::string> arguments = {"gemm", a, b, "-o", out, "--out-dtype", out_dtype, "--verify"};
      if (*c.slice_a != 0) arguments.insert(arguments.end(), {"--slice-a", c.slice_a});
      if (*c.slice_b != 0) arguments.insert(arguments.end(), {"--slice-b", c.slice_b});
      if (c.ta) arguments.push_back("--ta");
      if (c.tb) arguments.push_back("--tb");
      const Ran ran = folder.tilewright(arguments);
      ASSERT_EQ(ran.status, 0) << out << ": " << ran.err << ran.out;
      EXPECT_EQ(ran.err, "");
      compare += "right('" + out + "', np.load('" + a + "')" + numpy(c.slice_a) + (c.ta ? ".T" : "") + ", np.load('" +
                 b + "')" + numpy(c.slice_b) + (c.tb ? ".T" : "") + ", '" + out_dtype + "')\n";
    }
  }
  folder.python(script("def right(name, a, b, type):\n    c = np.load(name)\n    assert judge(c, a, b, type), name\n") +
                compare);
}

TEST(CommandGemm, TheComparisonWithNumpyFindsOneWrongElement) {
  Folder folder;
  EXPECT_EQ(folder.python(script(R"(
rng = np.random.default_rng(3)
a, b = rng.uniform(-1, 1, (30, 20)).astype('f2'), rng.uniform(-1, 1, (20, 10)).astype('f2')
c = (a.astype('f8') @ b.astype('f8')).astype('f2')
print(judge(c, a, b, 'f16'), judge(c.astype('f4'), a, b, 'f16'))
c[29, 9] = np.nextafter(np.nextafter(c[29, 9], np.float16(9)), np.float16(9))
print(judge(c, a, b, 'f16'))
c[29, 9] = np.nan
print(judge(c, a, b, 'f16'))
)")),
            "True False\nFalse\nFalse\n");
}

TEST(CommandGemm, ReadsAndWritesBf16) {
  Folder folder;
  folder.python(script(R"(
rng = np.random.default_rng(5)
np.save('a.npy', bf16(rng.uniform(-1, 1, (33, 47))))
np.save('b.npy', bf16(rng.uniform(-1, 1, (47, 21))))
)"));
  expect_refused(folder.tilewright({"gemm", "a.npy", "b.npy", "-o", "c.npy"}), {"a.npy", "bf16"});
  const Ran ran = folder.tilewright({"gemm", "a.npy", "b.npy", "--in-dtype", "bf16", "-o", "c.npy"});
  ASSERT_EQ(ran.status, 0) << ran.err;
  folder.python(script("assert judge(np.load('c.npy'), np.load('a.npy'), np.load('b.npy'), 'bf16')"));
  folder.python("np.save('f.npy', np.ones((4, 4), 'f4'))");
  expect_refused(folder.tilewright({"gemm", "f.npy", "f.npy", "--in-dtype", "bf16"}), {"f.npy", "f32", "bf16"});
}

TEST(CommandGemm, RefusesExtentsThatDoNotFitWithTheirValues) {
  Folder folder;
  folder.python("np.save('a.npy', np.ones((130, 65), 'f2')); np.save('b.npy', np.ones((64, 70), 'f2'))");
  expect_refused(folder.tilewright({"gemm", "a.npy", "b.npy", "-o", "c.npy"}),
                 {"a is 130×65 and b is 64×70: inner extents 65 and 64 differ", "--tb"});
  EXPECT_EQ(folder.names(), (std::vector<std::string>{"a.npy", "b.npy"}));
}

TEST(CommandGemm, NamesTheFileThatIsWrong) {
  Folder folder;
  folder.python(R"(
np.save('ok.npy', np.ones((4, 4), 'f2'))
np.save('double.npy', np.ones((4, 4)))
np.save('integers.npy', np.ones((4, 4), 'i4'))
np.save('vector.npy', np.ones(4, 'f2'))
np.save('f32.npy', np.ones((4, 4), 'f4'))
open('text.npy', 'w').write('hello, this is not an array, but it is long enough for a header')
open('short.npy', 'wb').write(open('ok.npy', 'rb').read()[:-1])
)");
  for (const std::string bad : {"missing.npy", "double.npy", "integers.npy", "vector.npy", "text.npy", "short.npy"}) {
    expect_refused(folder.tilewright({"gemm", "ok.npy", bad, "-o", "c.npy"}), {bad});
    expect_refused(folder.tilewright({"gemm", bad, "ok.npy", "-o", "c.npy"}), {bad});
  }
  expect_refused(folder.tilewright({"gemm", "double.npy", "ok.npy"}), {"f64", "astype"});
  expect_refused(folder.tilewright({"gemm", "ok.npy", "f32.npy"}), {"f16", "f32"});
  expect_refused(folder.tilewright({"gemm", "ok.npy", "ok.npy", "--slice-b", "1:2:0"}),
                 {"--slice-b", "ok.npy", "step"});
  expect_refused(folder.tilewright({"gemm", "ok.npy", "ok.npy", "--slice-a", "1:2;3"}), {"--slice-a", "ok.npy"});
  EXPECT_FALSE(folder.has("c.npy"));
}

TEST(CommandGemm, TheOutputMayBeAnInput) {
  Folder folder;
  folder.python(R"(
rng = np.random.default_rng(11)
a, b = (rng.integers(-4, 5, (300, 300)).astype('f4') for _ in range(2))
np.save('a.npy', a); np.save('b.npy', b); np.save('expected.npy', a @ b); np.save('square.npy', (a @ b) @ (a @ b).T)
)");
  ASSERT_EQ(folder.tilewright({"gemm", "a.npy", "b.npy", "-o", "a.npy", "--verify"}).status, 0);
  folder.python("assert (np.load('a.npy') == np.load('expected.npy')).all()");
  ASSERT_EQ(folder.tilewright({"gemm", "a.npy", "a.npy", "--tb", "-o", "a.npy", "--verify"}).status, 0);
  folder.python("assert (np.load('a.npy') == np.load('square.npy')).all()");
}

TEST(CommandGemm, RefusesAnOutputThatCannotBeBeforeItMultiplies) {
  Folder folder;
  folder.python("np.save('a.npy', np.ones((4, 4), 'f2'))");
  // The inputs are missing: they are looked for after the output's place.
  expect_refused(folder.tilewright({"gemm", "missing.npy", "missing.npy", "-o", "nowhere/deep/c.npy"}),
                 {"nowhere/deep", "create it"});
  std::filesystem::create_directory(folder.path() / "dir");
  expect_refused(folder.tilewright({"gemm", "a.npy", "a.npy", "-o", "dir"}), {"dir", "folder"});
  expect_refused(folder.tilewright({"gemm", "a.npy", "a.npy", "-o", "dir/"}), {"dir", "folder"});
  expect_refused(folder.tilewright({"gemm", "a.npy", "a.npy", "-o", "/dev/null"}), {"/dev/null", "regular"});
  expect_refused(folder.tilewright({"gemm", "a.npy", "a.npy", "-o", "a.npy/c.npy"}), {"a.npy"});
  EXPECT_EQ(folder.names(), (std::vector<std::string>{"a.npy", "dir"}));
}

TEST(CommandGemm, TheOutputMayBeALinkToAFileThatIsNew) {
  Folder folder;
  folder.python("np.save('a.npy', np.ones((4, 4), 'f2'))");
  folder.shell("mkdir data && ln -s data/c.npy c.npy && ln -s nowhere/c.npy lost.npy && ln -s loop.npy loop.npy");
  const Ran ran = folder.tilewright({"gemm", "a.npy", "a.npy", "-o", "c.npy"});
  EXPECT_EQ(ran.status, 0) << ran.err;
  EXPECT_TRUE(std::filesystem::is_symlink(folder.path() / "c.npy"));
  EXPECT_TRUE(folder.has("data/c.npy"));
  // The inputs are missing: they are looked for after the output's place.
  expect_refused(folder.tilewright({"gemm", "none.npy", "none.npy", "-o", "lost.npy"}), {"lost.npy", "nowhere"});
  expect_refused(folder.tilewright({"gemm", "none.npy", "none.npy", "-o", "loop.npy"}), {"loop.npy", "symbolic links"});
}

TEST(CommandGemm, AReadOnlyOutputIsRefusedBeforeItMultiplies) {
  Folder folder;
  folder.python("np.save('a.npy', np.ones((4, 4), 'f2'))");
  // root may write to any file, so the command runs as nobody there, from a copy that nobody can reach.
  const Ran ran = folder.shell(R"sh(
echo old > c.npy; chmod 444 c.npy; chmod 777 .; cp "$T" command; chmod 755 command
as_nobody=; if [ "$(id -u)" = 0 ]; then as_nobody='setpriv --reuid=65534 --regid=65534 --clear-groups'; fi
$as_nobody ./command gemm a.npy a.npy -o d.npy > /dev/null || exit 3
$as_nobody ./command gemm none.npy none.npy -o c.npy)sh");
  expect_refused(ran, {"c.npy", "read-only", "another name"});
  EXPECT_EQ(folder.shell("cat c.npy").out, "old\n");
}

TEST(CommandGemm, ALimitOnFileSizesIsAnErrorAndLeavesNothing) {
  Folder folder;
  folder.python("np.save('row.npy', np.ones((1, 300), 'f4'))");
  const Ran ran = folder.shell("ulimit -f 1; $T gemm row.npy row.npy --ta -o big.npy");
  expect_refused(ran, {"big.npy", "File too large"});
  EXPECT_EQ(folder.names(), std::vector<std::string>{"row.npy"});
}

TEST(CommandGemm, AnInputThatIsShortenedWhileItIsReadIsAnError) {
  Folder folder;
  std::ofstream(folder.path() / "c.npy") << "what was there before";
  // The file is cut as soon as the command has mapped it, which is long before the product is there.
  const std::string cutting = R"(
import subprocess, time
np.save('a.npy', np.ones((3000, 3000), 'f4')); whole = open('a.npy', 'rb').read()
for attempt in range(20):
    run = subprocess.Popen([command, 'gemm', 'a.npy', 'a.npy', '-o', 'c.npy', '--verify', '--plan', 'mma=portable', '--threads', '2'],
                           stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    while run.poll() is None:
        try:
            if '/a.npy' in open(f'/proc/{run.pid}/maps').read(): break
        except OSError: pass
    os.truncate('a.npy', 4096)
    out, err = run.communicate()
    if b'truncated' not in err: break  # else it was cut before its size was asked for
    open('a.npy', 'wb').write(whole)
assert run.returncode == 2 and out == b'', (run.returncode, out)
assert err.startswith(b'tilewright: an input file was shortened while it was read') and err.count(b'\n') == 1, err
assert open('c.npy').read() == 'what was there before' and sorted(os.listdir('.')) == ['a.npy', 'c.npy'], os.listdir('.')
)";
  folder.python(std::string("import os\ncommand = '" TILEWRIGHT_COMMAND "'\n").append(cutting));
}

TEST(CommandGemm, AFileNameInAMessageIsPrintableAndShort) {
  Folder folder;
  folder.python("np.save('a.npy', np.ones((4, 4), 'f2')); np.save('\\x1b]0;\\n.npy', np.ones((4, 4), 'i4'))");
  expect_refused(folder.tilewright({"gemm", "a.npy", "\x1b]0;\n.npy"}), {"\\x1b]0;\\x0a.npy: the elements are"});
  expect_refused(folder.tilewright({"gemm", "a.npy", "none\n.npy"}), {"none\\x0a.npy"});
  expect_refused(folder.tilewright({"gemm", "a.npy", "a.npy", "-o", "none\n/c.npy"}), {"none\\x0a/c.npy"});
  expect_refused(folder.tilewright({"gemm", "a.npy", "a.npy", "--plan", "\x1b"}), {"\\x1b"});
  const std::string deep = std::string(3000, 'd').append("/c.npy");
  for (const Ran& ran :
       {folder.tilewright({"gemm", deep, "a.npy"}), folder.tilewright({"gemm", "a.npy", "a.npy", "-o", deep}),
        folder.tilewright({"gemm", "a.npy", "a.npy", deep})}) {
    expect_refused(ran, {"...", "/c.npy"});
    EXPECT_LT(ran.err.size(), 500u) << ran.err;
  }
}

TEST(CommandGemm, SummarisesWithoutAnOutputFile) {
  Folder folder;
  folder.python("np.save('a.npy', np.ones((130, 65), 'f2')); np.save('b.npy', np.ones((65, 70), 'f2'))");
  const Ran ran = folder.tilewright({"gemm", "a.npy", "b.npy", "--plan", "64x32x32", "--slice-a", ":,::1"});
  EXPECT_EQ(ran.status, 0) << ran.err;
  for (const char* part : {"130x65", "65x70", "130x70", "1,183,000 FLOP", "64x32x32", "GFLOP/s", "1 thread",
                           "workspace", "give -o FILE", "a.npy [:,::1]"}) {
    EXPECT_TRUE(contains(ran.out, part)) << part << " is not in:\n" << ran.out;
  }
  EXPECT_EQ(folder.names().size(), 2u);
}

// No product of the library fails its verification, so an input changes between the multiplication and the
// verification: another process goes on switching A between ones and NaNs until a run has seen both.
TEST(CommandGemm, AFailedVerificationIsExitCode1AndWritesNothing) {
  Folder folder;
  std::ofstream(folder.path() / "c.npy") << "what was there before";
  const std::string changing = R"(
import subprocess
np.save('a.npy', np.ones((500, 64), 'f4')); np.save('b.npy', np.ones((64, 64), 'f4'))
a = np.load('a.npy', mmap_mode='r+')
def failed(more):
    for attempt in range(200):
        run = subprocess.Popen([command, 'gemm', 'a.npy', 'b.npy', '-o', 'c.npy', '--verify'] + more, stdout=subprocess.PIPE)
        turn = attempt
        while run.poll() is None:
            turn += 1
            a[:] = 1 if turn % 2 else np.nan
        if run.returncode == 1: return run.stdout.read().decode()
        assert run.returncode == 0
        open('c.npy', 'w').write('what was there before')
    assert False, 'no run failed'
text = failed([])
assert 'FAIL' in text and 'C[' in text and 'c.npy is left as it was' in text, text
assert open('c.npy').read() == 'what was there before'
verify = json.loads(failed(['--json']))['verify']
assert verify['passed'] is False and verify['worst_fraction_of_bound'] == 'inf', verify
assert open('c.npy').read() == 'what was there before'
)";
  folder.python(std::string("command = '" TILEWRIGHT_COMMAND "'\n").append(changing));
}

// Two terms are infinite in FP32, all three are not; a product and its negative are both infinite, and their sum is
// NaN.
TEST(CommandGemm, OverflowOnTheWayPassesTheVerification) {
  Folder folder;
  folder.python(R"(
np.save('a.npy', np.array([[3e38, 3e38, -3e38]], 'f4')); np.save('b.npy', np.ones((3, 1), 'f4'))
np.save('x.npy', np.array([[1e30, -1e30]], 'f4')); np.save('y.npy', np.full((2, 1), 1e30, 'f4'))
)");
  EXPECT_EQ(folder.tilewright({"gemm", "a.npy", "b.npy", "--verify"}).status, 0);
  EXPECT_EQ(folder.tilewright({"gemm", "x.npy", "y.npy", "--verify", "--plan", "mma=portable"}).status, 0);
}

TEST(CommandGemm, AVerdictOnInfiniteElementsSaysThatTheyAre) {
  Folder folder;
  folder.python("np.save('a.npy', np.array([[300, 300], [1, 1]], 'f2')); np.save('b.npy', np.full((2, 3), 200, 'f2'))");
  const Ran text = folder.tilewright({"gemm", "a.npy", "b.npy", "--verify"});
  EXPECT_EQ(text.status, 0) << text.err;
  EXPECT_TRUE(contains(text.out, "note: 3 of the 6 elements checked are infinite")) << text.out;
  const Ran wide = folder.tilewright({"gemm", "a.npy", "b.npy", "--verify", "--out-dtype", "f32"});
  EXPECT_FALSE(contains(wide.out, "note:")) << wide.out;
}

TEST(CommandGemm, AVerdictOnAVeryLongSumSaysHowMuchTheBoundAllows) {
  Folder folder;
  folder.python("np.save('a.npy', np.ones((1, 2000000), 'f2')); np.save('s.npy', np.ones((1, 1500000), 'f2'))");
  const std::vector<std::string> run = {"gemm", "a.npy", "a.npy", "--tb", "--out-dtype", "f32", "--verify"};
  const Ran text = folder.tilewright(run);
  EXPECT_EQ(text.status, 0) << text.err;
  EXPECT_TRUE(contains(text.out, "note: K = 2,000,000 is so long a sum that the bound allows 14 %")) << text.out;
  EXPECT_TRUE(contains(text.out, "split=split_k(64)")) << text.out;
  auto json = run;
  json.emplace_back("--json");
  EXPECT_TRUE(contains(folder.tilewright(json).out, R"("note":"note: K = 2,000,000 is)"));
  json[1] = json[2] = "s.npy";
  EXPECT_TRUE(contains(folder.tilewright(json).out, R"("note":null)"));
}

TEST(CommandGemm, JsonIsOneObjectWithEverything) {
  Folder folder;
  folder.python("np.save('a.npy', np.ones((130, 65), 'f2')); np.save('b.npy', np.ones((70, 65), 'f2'))");
  const Ran ran =
      folder.shell("$T gemm a.npy b.npy --tb --plan 64x32x32 --verify --explain --json -o c.npy > out.json");
  ASSERT_EQ(ran.status, 0) << ran.err;
  EXPECT_EQ(ran.err, "");
  folder.python(R"(
text = open('out.json').read()
assert text.count('\n') == 1 and text.endswith('\n')
o = json.loads(text)
assert o['a'] == {'file': 'a.npy', 'slices': None, 'transposed': False, 'rows': 130, 'cols': 65, 'type': 'f16', 'strides': [65, 1]}, o['a']
assert o['b'] == {'file': 'b.npy', 'slices': None, 'transposed': True, 'rows': 65, 'cols': 70, 'type': 'f16', 'strides': [1, 65]}, o['b']
assert o['c'] == {'file': 'c.npy', 'rows': 130, 'cols': 70, 'type': 'f16', 'strides': [70, 1]}, o['c']
assert o['target'] == 'cpu' and o['plan'].startswith('64x32x32 ') and o['plan_reason']
assert o['flops'] == 1183000 and o['seconds'] > 0 and abs(o['gflops_per_second'] * o['seconds'] * 1e9 / 1183000 - 1) < 1e-9
assert o['threads'] >= 1 and o['workspace_bytes'] == 0
v = o['verify']
assert v['passed'] is True and v['checked'] == v['total'] == 9100 and v['sampled'] is False and v['failures'] == 0
assert o['explain']['grid'] == [3, 3] and o['explain']['useful_flops'] == 1183000
)");
}

TEST(CommandGemm, AFileNameMayBeAnyBytes) {
  Folder folder;
  folder.python(R"(np.save(b'\xff \n".npy'.decode('utf-8', 'surrogateescape'), np.ones((2, 2), 'f2')))");
  const std::string name = "\xff \n\".npy";
  const Ran ran = folder.tilewright({"gemm", name, name, "-o", name, "--json"});
  EXPECT_EQ(ran.status, 0) << ran.err;
  EXPECT_TRUE(contains(ran.out, "\xef\xbf\xbd \\n\\\".npy")) << ran.out;
  EXPECT_EQ(folder.names(), std::vector<std::string>{name});
}

TEST(CommandGemm, AcceptsAWorkspaceForASplit) {
  Folder folder;
  folder.python("rng = np.random.default_rng(1); np.save('a.npy', rng.uniform(-1, 1, (16, 4096)).astype('f2'))");
  const std::vector<std::string> split = {"gemm",    "a.npy", "a.npy", "--tb", "--plan", "32x32x32 split=split_k(4)",
                                          "--verify"};
  expect_refused(folder.tilewright(split), {"4096"});  // 4 * 16 * 16 * 4 bytes
  auto with_budget = split;
  with_budget.insert(with_budget.end(), {"--workspace", "1M", "--threads", "2"});
  const Ran ran = folder.tilewright(with_budget);
  EXPECT_EQ(ran.status, 0) << ran.err;
  EXPECT_TRUE(contains(ran.out, "4,096 bytes of workspace")) << ran.out;
  EXPECT_TRUE(contains(ran.out, "split=split_k(4)")) << ran.out;
}

TEST(CommandGemm, TargetCheckGoesWithoutAProduct) {
  Folder folder;
  folder.python("np.save('a.npy', np.ones((4, 4), 'f2'))");
  expect_refused(folder.tilewright({"gemm", "a.npy", "a.npy", "--target", "check", "-o", "c.npy"}),
                 {"--target check", "-o"});
  expect_refused(folder.tilewright({"gemm", "a.npy", "a.npy", "--target", "check", "--verify"}),
                 {"--target check", "--verify"});
  expect_refused(folder.tilewright({"gemm", "a.npy", "a.npy", "--target", "tpu"}), {"tpu", "auto, cpu, cuda, check"});
  EXPECT_TRUE(contains(folder.tilewright({"gemm", "a.npy", "a.npy"}).out, "taken by auto"));
  EXPECT_FALSE(contains(folder.tilewright({"gemm", "a.npy", "a.npy", "--target", "cpu"}).out, "auto"));
}

// With a GPU the product is right; without one the refusal says what is missing.
TEST(CommandGemm, TargetCudaMultipliesOrSaysWhyNot) {
  Folder folder;
  folder.python("np.save('a.npy', np.random.default_rng(1).uniform(-1, 1, (65, 33)).astype('f2'))");
  const auto ran = folder.tilewright({"gemm", "a.npy", "a.npy", "--tb", "--target", "cuda", "--verify"});
  if (contains(folder.tilewright({"info"}).out, "cuda   unavailable")) {
    expect_refused(ran, {"the target cuda is unavailable: ", "--target cpu"});
  } else {
    EXPECT_EQ(ran.status, 0) << ran.err;
    EXPECT_TRUE(contains(ran.out, "PASS")) << ran.out;
    EXPECT_TRUE(contains(ran.out, "mma=mma_sync") || contains(ran.out, "mma=wgmma")) << ran.out;
  }
  expect_refused(folder.tilewright({"gemm", "a.npy", "a.npy", "--tb", "--target", "cuda", "--explain"}),
                 {"--explain", "--target cuda"});
  expect_refused(folder.tilewright({"gemm", "a.npy", "a.npy", "--tb", "--cache", "kernels"}),
                 {"--cache", "--target cuda"});
}

// A signal at any moment leaves the old file or the new one, and nothing else.
TEST(CommandGemm, InterruptionLeavesNoPartialFile) {
  Folder folder;
  folder.python(R"(
np.save('a.npy', np.arange(3000, dtype='f4').reshape(3000, 1)); np.save('b.npy', np.ones((1, 3000), 'f4'))
np.save('old.npy', np.full((3000, 3000), 7, 'f4'))
)");
  int interrupted = 0, finished = 0;
  for (int delay_us = 2'000; delay_us < 600'000; delay_us = delay_us * 5 / 4) {
    std::filesystem::copy_file(folder.path() / "old.npy", folder.path() / "c.npy",
                               std::filesystem::copy_options::overwrite_existing);
    RunOptions options;
    options.signal = delay_us % 2 == 0 ? SIGINT : SIGTERM;
    options.signal_after_us = delay_us;
    const Ran ran = folder.tilewright({"gemm", "a.npy", "b.npy", "-o", "c.npy"}, options);
    if (ran.status == 0) {
      ++finished;
    } else {
      ASSERT_EQ(ran.status, 256 + options.signal) << ran.err;
      ++interrupted;
    }
    ASSERT_EQ(folder.names(), (std::vector<std::string>{"a.npy", "b.npy", "c.npy", "old.npy"}))
        << "after " << delay_us << " us";
    ASSERT_EQ(std::filesystem::file_size(folder.path() / "c.npy"),
              std::filesystem::file_size(folder.path() / "old.npy"));
    const std::string last = folder.shell("tail -c 4 c.npy | od -An -tf4").out;  // of C[2999,2999]
    ASSERT_TRUE(contains(last, " 7") || contains(last, "2999")) << last;
    if (finished == 3) break;
  }
  EXPECT_GT(interrupted, 0);
}

TEST(CommandGemm, ALongVerificationIsSampledAndShowsItsProgressOnATerminal) {
  Folder folder;
  // 1,700 x 1,700 x 1,700 products are more than 2^32.
  folder.python("rng = np.random.default_rng(1); np.save('a.npy', rng.uniform(-1, 1, (1700, 1700)).astype('f2'))");
  RunOptions terminal;
  terminal.terminal = true;
  const std::vector<std::string> arguments = {"gemm", "a.npy", "a.npy", "--verify", "--threads", "1"};
  const Ran shown = folder.tilewright(arguments, terminal);
  EXPECT_EQ(shown.status, 0) << shown.err;
  EXPECT_TRUE(contains(shown.out, "PASS: a random sample of 2,5")) << shown.out;
  EXPECT_TRUE(contains(shown.out, "of 2,890,000 elements, seed 1")) << shown.out;
  if (!shown.err.empty()) {  // a machine that verifies in under two seconds shows nothing
    EXPECT_TRUE(contains(shown.err, "%")) << shown.err;
    EXPECT_TRUE(shown.err.ends_with("\r\033[K")) << "the line is removed at the end";
  }
}

}  // namespace
}  // namespace tilewright::test
