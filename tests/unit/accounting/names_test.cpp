#include "accounting/names.hpp"

#include <gmock/gmock.h>

namespace attn {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(NormalisedName, DropsReturnTypeParametersNamespacesAndTemplateArguments) {
  EXPECT_EQ(normalised_name("void (anonymous namespace)::softmax_warp_forward<c10::BFloat16, float, 11>(c10::BFloat16*, int)"), "softmax_warp_forward");
  EXPECT_EQ(normalised_name("void at::native::(anonymous namespace)::cunn_SoftMaxForward<4, float>(float*)"), "cunn_SoftMaxForward");
  EXPECT_EQ(normalised_name("void pytorch_flash::flash_fwd_kernel<Flash_fwd_kernel_traits<128, 64>, false>(pytorch_flash::Flash_fwd_params)"),
            "pytorch_flash::flash_fwd_kernel");
  EXPECT_EQ(normalised_name("fmha_cutlassF_bf16_aligned_64x128_rf_sm80(PyTorchMemEffAttention::AttentionKernel<cutlass::bfloat16_t>::Params)"),
            "fmha_cutlassF_bf16_aligned_64x128_rf_sm80");
  EXPECT_EQ(normalised_name("std::enable_if<!(false), void>::type internal::gemvx::kernel<int, int, __nv_bfloat16>(int)"), "internal::gemvx::kernel");
}

TEST(NormalisedName, KeepsTheWordThatSaysWhatAGenericKernelDoes) {
  EXPECT_EQ(normalised_name("void at::native::vectorized_elementwise_kernel<8, at::native::AUnaryFunctor<c10::BFloat16, c10::BFloat16, c10::BFloat16, "
                            "at::native::binary_internal::MulFunctor<float> >, std::array<char*, 2ul> >(int)"),
            "vectorized_elementwise_kernel<MulFunctor>");
  EXPECT_EQ(normalised_name("void cutlass::device_kernel<flash::enable_sm90_or_later<flash::FlashAttnFwdSm90<flash::CollectiveMainloopFwdSm90<2> > > >(x)"),
            "cutlass::device_kernel<FlashAttnFwdSm90>");
  EXPECT_EQ(normalised_name("void cutlass::Kernel2<cutlass_80_simt_sgemm_128x64_8x5_nt_align1>(x)"), "cutlass::Kernel2<cutlass_80_simt_sgemm_128x64_8x5_nt_align1>");
}

TEST(NormalisedName, CutsLambdaNoise) {
  EXPECT_EQ(normalised_name("void foo::operator()(int) const::{lambda()#1}::operator()() const"), "foo");
  EXPECT_EQ(normalised_name("void at::native::elementwise_kernel<128, 4, at::native::gpu_kernel_impl_nocast<at::native::(anonymous namespace)::masked_fill_kernel("
                            "at::TensorIterator&)::{lambda()#1}::operator()() const::{lambda(bool)#1}>(at::TensorIteratorBase&)::{lambda(int)#1}>(int)"),
            "elementwise_kernel<masked_fill_kernel>");
}

TEST(NormalisedName, IsTheSameForMangledAndDemangledNames) {
  EXPECT_EQ(normalised_name("_ZN13pytorch_flash16flash_fwd_kernelINS_23Flash_fwd_kernel_traitsILi128ELi64EN3c108BFloat16EiEELb0ELb1EEEvNS_16Flash_fwd_paramsE"),
            "pytorch_flash::flash_fwd_kernel");
  EXPECT_EQ(normalised_name("_ZN2at6native12_GLOBAL__N_120softmax_warp_forwardIN3c108BFloat16ES4_fLi11EEEvPT_PKS5_i"), "softmax_warp_forward");
  EXPECT_EQ(normalised_name("_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_11FillFunctorIbEESt5arrayIPcLm1EEEEviT0_T1_"),
            "vectorized_elementwise_kernel<FillFunctor>");
  EXPECT_EQ(normalised_name("_ZN2at6native18elementwise_kernelILi128ELi4EZNS0_22gpu_kernel_impl_nocastIZZZNS0_12_GLOBAL__N_118masked_fill_kernelERNS_18Tensor"
                            "IteratorBaseERKiENKUlvE_clEvENKUlvE_clEvEUlN3c108BFloat16EbE_EEvS5_RKT_EUliE_EEviT1_"),
            "elementwise_kernel<masked_fill_kernel>");
}

TEST(NormalisedName, ReadsWhatIsLeftOfCutNames) {
  EXPECT_EQ(normalised_name("_ZN13pytorch_flash16flash_fwd_kernelI23Flash_fwd_kernel_traitsILi128ELi12"), "pytorch_flash::flash_fwd_kernel");
  EXPECT_EQ(normalised_name("_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_11FillFunctorIb"), "vectorized_elementwise_kernel<FillFunctor>");
  EXPECT_EQ(normalised_name("void (anonymous namespace)::softmax_warp_forward<c10::BFl"), "softmax_warp_forward");
  EXPECT_EQ(normalised_name("_ZN13pytorch_fl"), "pytorch_fl");
}

TEST(NormalisedName, LeavesPlainNamesAlone) {
  for (const char* name : {"cpu_scale", "nvjet_sm90_tst_128x256_64x4_1x2_h_bz_coopA_NNN", "triton_tem_fused_flex_attention_3", "_Z", "_attn_fwd"})
    EXPECT_EQ(normalised_name(name), name);
  EXPECT_EQ(normalised_name("Memcpy DtoD (Device -> Device)"), "Memcpy DtoD");
  EXPECT_EQ(normalised_name(""), "(no name)");
}

TEST(NormalisedName, IsBoundedAndTellsCutNamesApart) {
  const std::string a = std::string(1000, 'k') + "a", b = std::string(1000, 'k') + "b";
  EXPECT_LE(normalised_name(a).size(), kNameLength);
  EXPECT_NE(normalised_name(a), normalised_name(b));
  EXPECT_EQ(normalised_name(a), normalised_name(a));
  EXPECT_LE(readable_name(std::string(10'000'000, '<')).size(), 4096u);
  EXPECT_LE(normalised_name(std::string(10'000'000, '(')).size(), kNameLength);
}

// f(pair<int, int>, pair<S, S> of that, ...): 40 levels of doubling describe a terabyte of text in 400 bytes.
TEST(NormalisedName, SurvivesNamesThatUnfoldWithoutEnd) {
  std::string bomb = "_Z1fSt4pairIiiE";
  for (const char digit : std::string("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ")) bomb += std::string("S_I") + "S" + digit + "_S" + digit + "_E";
  EXPECT_LE(readable_name(bomb).size(), 4096u);
  EXPECT_EQ(normalised_name(bomb).substr(0, 1), "f");
}

TEST(NeutralText, CannotActOnATerminal) {
  EXPECT_EQ(neutral_text("a\x1b[31mred\x07\r\n\tb"), "a?[31mred????b");
  EXPECT_EQ(neutral_text("\xc2\x9b"), "?");                     // C1 control: another way to write an escape
  EXPECT_EQ(neutral_text("x\xe2\x80\xae" "y"), "x?y");          // right-to-left override
  EXPECT_EQ(neutral_text(std::string_view("a\0b", 3)), "a?b");
}

TEST(NeutralText, KeepsGoodTextAndMarksBadBytes) {
  EXPECT_EQ(neutral_text("gr\xc3\xbc\xc3\x9f \xe2\x82\xac"), "gr\xc3\xbc\xc3\x9f \xe2\x82\xac");
  EXPECT_EQ(neutral_text("\xff" "a\xc0\xaf\xed\xa0\x80"), "?a?????");  // no UTF-8, overlong, surrogate
  EXPECT_EQ(neutral_text("cut\xe2\x82"), "cut??");
}

TEST(ReadableName, IsNeutralAfterDemanglingToo) { EXPECT_THAT(readable_name("_Z3f\x1b[1mv"), Not(HasSubstr("\x1b"))); }

}  // namespace
}  // namespace attn
