#include "accounting/rules.hpp"

#include <gmock/gmock.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <sstream>

#include "accounting/account.hpp"
#include "accounting/names.hpp"
#include "base/json.hpp"

namespace attn {
namespace {

using testing::HasSubstr;

ActivityClass class_of(const std::string& name) { return classify(default_rules(), ActivityKind::kernel, readable_name(name)).activity_class; }

KernelPath path_of(const std::vector<std::string>& kernels) {
  std::vector<CallActivities> calls(1);
  for (const std::string& name : kernels) calls[0].push_back({ActivityKind::kernel, name, {}, 1, 2});
  return *account(calls, default_rules()).kernel_path;
}

// Records of seven variants on four shapes: H200, torch 2.11.0+cu130.
Json recorded() {
  std::ifstream file(ATTN_SOURCE_DIR "/tests/unit/accounting/h200_torch_2.11.json");
  std::stringstream text;
  text << file.rdbuf();
  return parse_json(text.str(), "h200_torch_2.11.json");
}

TEST(Rules, KnowEveryNameThatTorchShowedOnAnH200) {
  const Json data = recorded();
  ASSERT_EQ(data["names"].size(), 44u);
  for (const Json& each : data["names"]) {
    const auto kind = *from_word<ActivityKind>(each[0].get<std::string>());
    const auto name = each[1].get<std::string>();
    EXPECT_NE(classify(default_rules(), kind, readable_name(name)).activity_class, ActivityClass::other) << name;
  }
}

TEST(Rules, FindThePathOfEveryRecordedVariant) {
  const std::map<std::string, std::vector<KernelPath>> expected{
      {"naive", {KernelPath::naive}},   {"naive_inplace", {KernelPath::naive}}, {"math", {KernelPath::math}}, {"efficient", {KernelPath::efficient}},
      {"flash", {KernelPath::flash2}}, {"cudnn", {KernelPath::cudnn}},         {"default", {KernelPath::cudnn, KernelPath::efficient}}};
  const Json data = recorded();
  ASSERT_EQ(data["rows"].size(), 25u);
  for (const auto& [row, records] : data["rows"].items()) {
    std::vector<CallActivities> calls(1);
    for (const Json& record : records) {
      const Json& name = data["names"][record[0].get<std::size_t>()];
      calls[0].push_back({*from_word<ActivityKind>(name[0].get<std::string>()), name[1].get<std::string>(), 64, 1000, 2000});
    }
    const Account result = account(calls, default_rules());
    EXPECT_THAT(expected.at(row.substr(0, row.find(' '))), testing::Contains(*result.kernel_path)) << row;
    const auto of_kind = [&](ActivityKind kind) { return std::ranges::count(calls[0], kind, &Activity::kind); };
    EXPECT_EQ(result.counts.kernels->high, of_kind(ActivityKind::kernel)) << row;
    EXPECT_EQ(result.counts.memsets->high, of_kind(ActivityKind::memset)) << row;
    EXPECT_EQ(result.counts.copy_bytes->high, 64 * of_kind(ActivityKind::memcpy)) << row;
  }
}

struct Pattern {
  const char* name;
  ActivityClass activity_class;
  KernelPath path;  // of a call with this kernel alone
};

class KnownPatterns : public testing::TestWithParam<Pattern> {};

TEST_P(KnownPatterns, AreClassed) {
  EXPECT_EQ(word(class_of(GetParam().name)), word(GetParam().activity_class)) << GetParam().name;
  EXPECT_EQ(word(path_of({GetParam().name})), word(GetParam().path)) << GetParam().name;
}

using enum ActivityClass;
constexpr auto kUnknown = KernelPath::unknown, kNone = KernelPath::none, kFlash2 = KernelPath::flash2, kFlash3 = KernelPath::flash3;

INSTANTIATE_TEST_SUITE_P(Attention, KnownPatterns, testing::Values(
    Pattern{"void pytorch_flash::flash_fwd_splitkv_kernel<X>(P)", attention, kFlash2}, Pattern{"void pytorch_flash::flash_fwd_splitkv_combine_kernel<X>(P)", attention, kFlash2},
    Pattern{"void flash::flash_bwd_dot_do_o_kernel<true, X>(P)", attention, kFlash2}, Pattern{"void flash::flash_bwd_dq_dk_dv_loop_seqk_parallel_kernel<X>(P)", attention, kFlash2},
    Pattern{"void flash::flash_bwd_convert_dq_kernel<X>(P)", attention, kFlash2}, Pattern{"void flash::flash_bwd_convert_dkv_kernel<X>(P)", attention, kFlash2},
    Pattern{"void flash::flash_bwd_clear_dkvaccum_kernel<X>(P)", attention, kFlash2}, Pattern{"flash_fwd_cpu", attention, kFlash2},
    Pattern{"void cutlass::device_kernel<flash::enable_sm90<flash::FlashAttnFwdSm90<flash::CollectiveMainloopFwdSm90<2>>>>(P)", attention, kFlash3},
    Pattern{"void cutlass::device_kernel<flash::FlashAttnFwdCombine<X>>(P)", attention, kFlash3}, Pattern{"flash::prepare_varlen_num_blocks_kernel(int)", attention, kUnknown},
    Pattern{"void cutlass::device_kernel<flash::enable_sm90<flash::FlashAttnBwdSm90<X>>>(P)", attention, kFlash3},
    Pattern{"kernel_cutlass_kernel_flash_attncuteflash_fwd_sm100FlashAttentionForwardSm100_object_at__0", attention, KernelPath::flash4},
    Pattern{"fmha_cutlassF_bf16_notaligned_64x64_rf_sm80(P)", attention, KernelPath::efficient}, Pattern{"fmha_cutlassB_f16_aligned_64x64_k64_seqaligned_sm80(P)", attention, KernelPath::efficient},
    Pattern{"void attention_kernel_batched<PyTorchMemEffAttention::AttentionKernel<X>>(P)", attention, KernelPath::efficient},
    Pattern{"cudnn_generated_fort_native_sdpa_sm80_flash_fprop_wmma_f16_knob_6_128x64x64_4x1x1_cga1x1x1_kernel0_0", attention, KernelPath::cudnn},
    Pattern{"cudnn_generated_fort_native_sdpa_sm90_knob_7_64x128x128_4x1x1_kernel0_0", attention, KernelPath::cudnn},
    Pattern{"cudnn_generated_fort_native_sdpa_sm100_flash_bprop_wgmma_mxfp8_knob_1_kernel0_0", attention, KernelPath::cudnn},
    Pattern{"void cudnn::fusion::compute_dot_do_o_specialized<true>(P)", attention, KernelPath::cudnn}, Pattern{"void convert_dq_to_16bits<true>(P)", attention, kUnknown},
    Pattern{"void fmha_reduce_head<X>(P)", attention, kUnknown}, Pattern{"triton_tem_fused_flex_attention_0", attention, KernelPath::flex},
    Pattern{"triton_tem_fused_flex_attention_backward_2", attention, KernelPath::flex}, Pattern{"_attn_fwd", attention, KernelPath::triton},
    Pattern{"_attn_bwd_preprocess", attention, KernelPath::triton}, Pattern{"void flashinfer::BatchPrefillWithPagedKVCacheKernel<X>(P)", attention, kFlash2},
    Pattern{"void flashinfer::BatchPrefillWithRaggedKVCacheKernel<X>(P)", attention, kFlash2}, Pattern{"void flashinfer::SinglePrefillWithKVCacheKernel<X>(P)", attention, kFlash2},
    Pattern{"void flashinfer::PrefillWithKVCacheKernel<X>(P)", attention, kFlash3}, Pattern{"void qk_int8_sv_f16_accum_f16_attn_kernel<X>(P)", attention, kFlash2},
    Pattern{"void qk_int_sv_f8_attn_kernel<X>(P)", attention, kFlash2}, Pattern{"void my::attention_forward<64>(P)", attention, kUnknown}));

INSTANTIATE_TEST_SUITE_P(Products, KnownPatterns, testing::Values(
    Pattern{"ampere_bf16_s16816gemm_bf16_128x128_ldg8_f2f_stages_64x3_tn", gemm, kUnknown}, Pattern{"ampere_fp16_s1688gemm_fp16_128x64_tn", gemm, kUnknown},
    Pattern{"sm80_xmma_gemm_f32f32_f32f32_f32_tn_n_tilesize64x64x8_cublas", gemm, kUnknown}, Pattern{"ampere_sgemm_128x64_nn", gemm, kUnknown},
    Pattern{"void cutlass::Kernel2<cutlass_80_wmma_tensorop_bf16_s161616gemm_bf16_16x16_128x2_tn_align8>(P)", gemm, kUnknown},
    Pattern{"nvjet_sm100_tst_128x256_64x4_1x2_h_bz_coopA_NNN", gemm, kUnknown}, Pattern{"nvjet_hss_128x128_splitK_TNT", gemm, kUnknown},
    Pattern{"void cublasLt::splitKreduce_kernel<32, 16>(P)", gemm, kUnknown}, Pattern{"sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n", gemm, kUnknown},
    Pattern{"triton_tem_fused_addmm_3", gemm, kUnknown}, Pattern{"cpu_gemm_qk", gemm, kUnknown}, Pattern{"cpu_gemm_pv", gemm, kUnknown},
    Pattern{"void at::native::(anonymous namespace)::cunn_SoftMaxForwardSmem<8, float>(P)", softmax, kUnknown}, Pattern{"cpu_softmax", softmax, kUnknown},
    Pattern{"triton_per_fused__softmax_1", softmax, kUnknown}));

INSTANTIATE_TEST_SUITE_P(TheRest, KnownPatterns, testing::Values(
    Pattern{"void at::native::elementwise_kernel<128, 2, at::native::gpu_kernel_impl_nocast<at::native::direct_copy_kernel_cuda(X)::{lambda()#3}>>(int)", copy, kNone},
    Pattern{"void at::native::unrolled_elementwise_kernel<at::native::direct_copy_kernel_cuda(X)::{lambda()#3}, at::native::memory::LoadWithCast<1>>(int)", cast, kNone},
    Pattern{"void at::native::vectorized_elementwise_kernel<4, at::native::float16_copy_kernel_cuda(X)::{lambda(float)#1}>(int)", cast, kNone},
    Pattern{"void at::native::(anonymous namespace)::CatArrayBatchedCopy<X, unsigned int, 4, 64, 64>(P)", copy, kNone}, Pattern{"void QuantInt8Kernel<64>(P)", cast, kNone},
    Pattern{"void at::native::reduce_kernel<512, 1, at::native::ReduceOp<bool, at::native::func_wrapper_t<bool, at::native::and_kernel_cuda(X)>>>(P)", reduce, kNone},
    Pattern{"void at::native::vectorized_elementwise_kernel<4, at::native::CompareEqFunctor<float>>(int)", mask, kNone},
    Pattern{"void at::native::(anonymous namespace)::distribution_elementwise_grid_stride_kernel<float, 4>(P)", rng, kNone},
    Pattern{"void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>>(int)", elementwise, kNone},
    Pattern{"cpu_scale", elementwise, kNone}, Pattern{"cpu_scale_q", elementwise, kNone}, Pattern{"cpu_softcap", elementwise, kNone}, Pattern{"cpu_alibi", elementwise, kNone},
    Pattern{"cpu_masked_fill", mask, kNone}, Pattern{"cpu_mask_add", mask, kNone}, Pattern{"cpu_mask_build", mask, kNone}, Pattern{"cpu_where", mask, kNone},
    Pattern{"cpu_is_neginf", mask, kNone}, Pattern{"cpu_all_masked", mask, kNone}, Pattern{"cpu_cast_q", cast, kNone}, Pattern{"cpu_copy_o", copy, kNone},
    Pattern{"control_memory", other, kUnknown}, Pattern{"something_new", other, kUnknown}));

INSTANTIATE_TEST_SUITE_P(OurKernels, KnownPatterns, testing::Values(
    Pattern{"void attn::attn_chain_scale<__half, 8>(attn::Scores, float)", elementwise, kNone}, Pattern{"attn::attn_chain_scale_q(attn::Rows4, attn::Rows4, long, float)", elementwise, kNone},
    Pattern{"void attn::attn_chain_softcap<float, 4>(attn::Scores, float)", elementwise, kNone}, Pattern{"void attn::attn_chain_alibi<__half, 1>(attn::Scores)", elementwise, kNone},
    Pattern{"void attn::attn_chain_mask_add<__half, __half, 8>(attn::Scores)", mask, kNone}, Pattern{"void attn::attn_chain_masked_fill<__nv_bfloat16, 8>(attn::Scores)", mask, kNone},
    Pattern{"void attn::attn_chain_mask_build<__half, 4>(attn::BuiltMask, attn::GpuRows)", mask, kNone}, Pattern{"void attn::attn_chain_is_neginf<4>(attn::Scores, unsigned char*)", mask, kNone},
    Pattern{"void attn::attn_chain_mask_add_built<4>(attn::Scores, attn::BuiltMask)", mask, kNone},
    Pattern{"void attn::attn_chain_all_masked<4>(attn::GpuRows, unsigned char const*, unsigned char*)", mask, kNone},
    Pattern{"attn::attn_chain_where(attn::Scores, unsigned char const*, int)", mask, kNone}, Pattern{"void attn::attn_chain_cast_q<__half>(attn::Rows4, attn::Rows4, long, float)", cast, kNone},
    Pattern{"void attn::attn_chain_softmax<__nv_bfloat16, 8, 32, 32>(attn::Softmax)", softmax, kUnknown}, Pattern{"attn::attn_chain_gemm_qk(attn::Product, attn::GpuRows)", gemm, kUnknown},
    Pattern{"memcpy32_post", copy, kNone}, Pattern{"memset32_post", fill, kNone}, Pattern{"control_stream(uint4*)", other, kUnknown}, Pattern{"control_fill((anonymous namespace)::Elements, long)", other, kUnknown}));

// Names that profiles of cuBLAS, CUTLASS and PyTorch show.
TEST(Rules, TellWhatAGemmComputesWith) {
  using enum GemmKind;
  const std::map<std::optional<GemmKind>, std::vector<const char*>> names{
      {fp32_simt, {"ampere_sgemm_128x64_nn", "volta_sgemm_32x128_tn", "void cutlass::Kernel2<cutlass_80_simt_sgemm_128x64_8x5_nn_align1>(P)", "maxwell_sgemm_fp16_128x128_nn",
                   "sm80_xmma_gemm_f32f32_f32f32_f32_tn_n_tilesize64x64x8_stage3_warpsize1x4x1_ffma_aligna4_alignc4_execute_kernel__5x_cublas", "cpu_sgemm_qk", "void gemmSN_TN_kernel<float, 128, 16, 2, 4, 4, 4, true, cublasGemvTensorStridedBatched<float const>>(P)",
                   "attn::attn_chain_gemm_qk(attn::Product, attn::GpuRows)"}},
      {tf32, {"void cutlass::Kernel2<cutlass_80_tensorop_s1688gemm_128x64_16x6_nn_align4>(P)", "sm90_xmma_gemm_f32f32_tf32f32_f32_tn_n_tilesize128x128x32_warpgroupsize1x1x1_execute_segment",
              "nvjet_sss_tf32_128x256_TNT", "cutlass_80_tensorop_s1688tf32gemm_256x128"}},
      {bf16, {"nvjet_sm90_tst_128x256_64x4_1x2_h_bz_coopA_NNN", "nvjet_tst_64x8_64x16_4x1_v_bz_TNT", "nvjet_sm120_tst_mma_64x64x128_3", "ampere_bf16_s16816gemm_bf16_128x128_ldg8_f2f_stages_64x3_tn",
              "ampere_bf16_s1688gemm_bf16_128x128_ldg8", "sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n", "cutlass_75_tensorop_s1688gemm_bf16_64x64_tn_align1",
              "void cutlass::Kernel2<cutlass_80_wmma_tensorop_bf16_s161616gemm_bf16_16x16_128x2_tn_align8>(P)", "cutlass_80_tensorop_s1688bf16gemm_64x64"}},
      {fp16, {"nvjet_sm90_hsh_256x128_64x4_1x2_h_bz_coopA_TNT", "ampere_fp16_s16816gemm_fp16_64x64_ldg8", "ampere_fp16_s1688gemm_fp16_128x64_tn", "volta_h884gemm_64x128_ldg8_nn", "volta_fp16_s884gemm_fp16_128x128",
              "cutlass_80_tensorop_f16_s16816gemm_f16_64x64", "sm80_xmma_gemm_f16f16_f16f32_f32_tn_n", "ampere_h16816gemm_128x64", "turing_hgemm_128x64"}},
      {fp8, {"nvjet_qqtst_128x256_128x6_2x1_2cta_v_bz_TNT", "nvjet_sm100_qqtst_128x256", "sm89_xmma_gemm_e4m3bf16_e4m3f32_f32_tn_n"}},
      {std::nullopt, {"cpu_gemm_qk", "void cublasLt::splitKreduce_kernel<32, 16>(P)", "triton_tem_fused_bmm_3", "void gemv2T_kernel_val<int, int, float>(P)"}}};
  for (const auto& [kind, list] : names)
    for (const char* name : list) {
      const OperationClass found = classify(default_rules(), ActivityKind::kernel, readable_name(name));
      EXPECT_EQ(found, (OperationClass{ActivityClass::gemm, kind})) << name << " is " << to_string(found);
    }
}

TEST(Rules, EveryProductThatTorchShowedOnAnH200HasItsKind) {
  std::map<GemmKind, int> kinds;
  const Json data = recorded();
  for (const Json& each : data["names"]) {
    const OperationClass found = classify(default_rules(), *from_word<ActivityKind>(each[0].get<std::string>()), readable_name(each[1].get<std::string>()));
    EXPECT_EQ(found.gemm_kind.has_value(), found.activity_class == ActivityClass::gemm) << each[1];
    if (found.gemm_kind) ++kinds[*found.gemm_kind];
  }
  EXPECT_EQ(kinds, (std::map<GemmKind, int>{{GemmKind::fp32_simt, 6}, {GemmKind::fp16, 2}, {GemmKind::bf16, 2}}));
}

TEST(Rules, TellOurMathFromOurNaiveChain) {
  EXPECT_EQ(path_of({"cpu_gemm_qk", "cpu_scale", "cpu_masked_fill", "cpu_softmax", "cpu_gemm_pv"}), KernelPath::naive);
  EXPECT_EQ(path_of({"cpu_scale_q", "cpu_scale_k", "cpu_gemm_qk", "cpu_is_neginf", "cpu_softmax", "cpu_all_masked", "cpu_where", "cpu_gemm_pv"}), KernelPath::math);
  const std::string product = "nvjet_tst_128x128_64x6_2x1_v_bz_TNT", softmax_kernel = "void attn::attn_chain_softmax<__half, 8, 32, 32>(attn::Softmax)";
  EXPECT_EQ(path_of({product, "void attn::attn_chain_scale<__half, 8>(attn::Scores, float)", "void attn::attn_chain_masked_fill<__half, 8>(attn::Scores)", softmax_kernel, product}),
            KernelPath::naive);
  EXPECT_EQ(path_of({"attn::attn_chain_scale_q(attn::Rows4, attn::Rows4, long, float)", "attn::attn_chain_scale_k(attn::Rows4, attn::Rows4, long, float)", product,
                     "void attn::attn_chain_is_neginf<4>(attn::Scores, unsigned char*)", softmax_kernel, "attn::attn_chain_where(attn::Scores, unsigned char const*, int)", product}),
            KernelPath::math);
}

// Without a mask torch's math path takes the plain softmax: what is left of it are the scaling of both operands and the casts.
TEST(Rules, KnowTorchsMathPathWithoutAMask) {
  const std::string mul = "void at::native::vectorized_elementwise_kernel<4, at::native::AUnaryFunctor<at::native::binary_internal::MulFunctor<float>>>(int)";
  const std::string softmax_kernel = "void (anonymous namespace)::softmax_warp_forward<float, float, float, 10, false, false>(float*)";
  EXPECT_EQ(path_of({mul, mul, "ampere_sgemm_128x64_tn", softmax_kernel, "ampere_sgemm_128x64_nn"}), KernelPath::math);
  // Above 2^31 scores torch splits the scaling into two kernels; it still runs after the product.
  EXPECT_EQ(path_of({"ampere_sgemm_128x64_tn", mul, mul, softmax_kernel, "ampere_sgemm_128x64_nn"}), KernelPath::naive);
}

TEST(Rules, KnowTorchsMathPathByItsBackwardPassAlone) {
  const std::string mul = "void at::native::vectorized_elementwise_kernel<4, at::native::AUnaryFunctor<float, float, float, at::native::binary_internal::MulFunctor<float>>>";
  const std::string backward = "void softmax_warp_backward<float, float, float, 9, false, false>(float*, float const*, float const*, int, int, int, bool const*)";
  const std::string product = "cutlass::Kernel2<cutlass_80_simt_sgemm_64x64_8x5_nt_align1>";
  EXPECT_EQ(path_of({product, product, mul, backward, mul, product, product, mul}), KernelPath::math);
  EXPECT_EQ(path_of({product, product, backward, mul, product, product}), KernelPath::naive);
}

TEST(Rules, CallItNoneWhenNothingThatCouldBeAttentionRan) {
  // The work is done on the host and copied back: the numbers are right, the device did nothing.
  const std::vector<CallActivities> calls{{{ActivityKind::memcpy, "Memcpy DtoH (Device -> Pageable)", 4096, 10, 20}, {ActivityKind::memcpy, "Memcpy HtoD", 4096, 30, 40}}};
  EXPECT_EQ(account(calls, default_rules()).kernel_path, KernelPath::none);
  EXPECT_EQ(account({CallActivities{}}, default_rules()).kernel_path, KernelPath::none);
}

TEST(Rules, AUsersRulesComeFirst) {
  const std::string path = testing::TempDir() + "rules_" + std::to_string(getpid()) + ".yaml";
  std::ofstream(path) << "version: 1\nclasses:\n  - {class: attention, name: something_new}\n  - {class: gemm.tf32, name: my_product}\npaths:\n  - {path: triton, names: something_new}\n";
  const Rules rules = load_rules(path);
  std::remove(path.c_str());
  const Account result = account({{{ActivityKind::kernel, "something_new", {}, 1, 2}}}, rules);
  EXPECT_EQ(result.kernels[0].activity_class, ActivityClass::attention);
  EXPECT_EQ(result.kernel_path, KernelPath::triton);
  EXPECT_EQ(account({{{ActivityKind::kernel, "my_product", {}, 1, 2}}}, rules).kernels[0].gemm_kind, GemmKind::tf32);
  EXPECT_EQ(classify(rules, ActivityKind::kernel, "cpu_softmax").activity_class, ActivityClass::softmax);
}

struct BadRules {
  const char* text;
  const char* message;
};

TEST(Rules, BadOnesAreRefusedWithTheirPlace) {
  for (const auto& [text, message] : {BadRules{"version: 2\n", "r.yaml:1:10: "}, {"version: 1\nclasses:\n  - {class: gem, name: x}\n", "did you mean gemm?"},
                                      {"version: 1\nclasses:\n  - {class: gemm.fp23, name: x}\n", "r.yaml:3:13: class: found \"gemm.fp23\"; allowed are: attention, gemm, gemm.fp32_simt"},
                                      {"version: 1\nclasses:\n  - {class: gemm, name: 'a('}\n", "r.yaml:3:25: name: no regular expression: \"a(\""},
                                      {"version: 1\npaths:\n  - {path: math}\n", "would fit every call"}, {"version: 1\npath: []\n", "did you mean paths?"},
                                      {"version: 1\npaths:\n  - {path: math, names: [{name: x, count: 0}]}\n", "r.yaml:3:43: "}, {"classes: []\n", "version"}}) {
    try {
      parse_rules(text, "r.yaml");
      ADD_FAILURE() << "accepted: " << text;
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), HasSubstr(message));
    }
  }
}

TEST(NamePattern, AlternativesAreWordsOrExpressions) {
  const NamePattern pattern("gemm|^triton_.*mm|a+b");
  EXPECT_TRUE(pattern.found_in("my_gemm_kernel"));
  EXPECT_TRUE(pattern.found_in("triton_tem_mm"));
  EXPECT_TRUE(pattern.found_in("xaab"));
  EXPECT_FALSE(pattern.found_in("x_triton_mm"));
  EXPECT_FALSE(pattern.found_in("a+b"));
  EXPECT_TRUE(NamePattern("x(a|b)y").found_in("xby"));
  EXPECT_FALSE(NamePattern("x(a|b)y").found_in("xa"));
}

}  // namespace
}  // namespace attn
