// Compiled without any standard header, exceptions or run-time types: the language, the operator's programs, the
// teaching kernels and the describing executor, as a run-time compiler for a GPU would see them.
#include <examples/kernels/advancing.hpp>
#include <examples/kernels/atomic_split.hpp>
#include <examples/kernels/batched.hpp>
#include <examples/kernels/bias_activation.hpp>
#include <examples/kernels/gathered.hpp>
#include <examples/kernels/masked.hpp>
#include <examples/kernels/modulo.hpp>
#include <examples/kernels/softmax.hpp>
#include <examples/kernels/transposed_store.hpp>
#include <programs/split_k.hpp>
#include <tilewright/tile/describe/executor.hpp>

using namespace tilewright;

void describe_all(describe::Record& record, const kernels::MatmulArgs<f16, f16>& matmul,
                  const kernels::MatmulArgs<f16, float>& atomic, const kernels::BiasArgs<bf16, float>& bias,
                  const kernels::GatheredArgs<f16, f16>& gathered, const kernels::SoftmaxArgs<float, float>& softmax,
                  const kernels::BatchedArgs<f16, f16>& batched, const programs::GemmArgs<f16, f16>& gemm,
                  const programs::SplitKArgs<f16, f16>& split) {
  constexpr programs::Tiles tiles{64, 32, 32};
  describe::record(kernels::Masked<64, 32, 32>{}, {9}, {}, 0, matmul, record);
  describe::record(kernels::Advancing<64, 32, 32>{}, {9}, {}, 0, matmul, record);
  describe::record(kernels::ModuloRows<64, 32, 32>{}, {9}, {}, 0, matmul, record);
  describe::record(kernels::TransposedStore<64, 32, 32>{}, {9}, {}, 0, matmul, record);
  describe::record(kernels::AtomicSplit<64, 32, 32>{}, {9, 2}, {}, 0, atomic, record);
  describe::record(kernels::BiasActivation<64, 32, 32>{}, {9}, {}, 0, bias, record);
  describe::record(kernels::GatheredRows<64, 32, 32>{}, {9}, {}, 0, gathered, record);
  describe::record(kernels::RowSoftmax<16, 320>{}, {9}, {}, 0, softmax, record);
  describe::record(kernels::Batched<64, 32, 32>{}, {3, 3, 2}, {}, 0, batched, record);
  describe::record(programs::Gemm<tiles>{}, {9}, {OrderKind::grouped, 2}, 0, gemm, record);
  describe::record(programs::SplitKSum<tiles>{}, {9, 2}, {}, 0, split, record);
  describe::record(programs::SplitKReduce<tiles>{}, {9}, {}, 0, split, record);
}
