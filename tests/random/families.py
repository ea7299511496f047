"""Whole models of the library, their hyperparameters at random."""


class Families:
    def family(self):
        """The lines of a model that inherits, or None: (imports, name of the parent, lines)."""
        r = self.r
        return r.pick([self.decoder, self.decoder, self.encoder_decoder, self.mixture, self.deepseek, self.vision, self.diffusion])()

    def common(self):
        r = self.r
        heads = r.pick([1, 2, 3, 4])
        return heads, r.pick([4, 6, 8]) * heads, f"vocab {r.pick([7, 50, 97])}  context {r.pick([17, 31, 40, 57])}  layers {1 + r.below(3)}  "

    def decoder(self):
        r = self.r
        heads, d, text = self.common()
        groups = r.pick([g for g in range(1, heads + 1) if heads % g == 0])
        lines = [text + f"heads {heads}  kv_heads {groups}  d_model {d}  d_ff {r.pick([5, 16, 31])}"]
        position = r.pick(["rope(interleaved: true)", "[rope(theta: 100), none]", f"alibi(heads: {heads})", "sinusoidal",
                           "learned(length: 57)", "rope(part: 0.5)" if d // heads % 4 == 0 else "rope"])
        lines.append(f"position {position}")
        lines.append("mask " + r.pick(["causal", "sliding(window: 7)", "[sliding(window: 5), causal]", "[causal, sliding(window: 1), causal]"]))
        lines += [line for line in ("cap softcap(cap: 8)", "parallel true", "one_norm true", "tied false", "bias true", "qkv_bias true",
                                    "clip clamp(most: 0.5)", "embed_scale 2.5") if r.chance(20)]
        lines += [line for line in ("block norm(x) = layernorm(x, eps: 0.01)", "block ffn(x) = mlp(x, d_ff)", "block after(x) = norm(x)",
                                    "block qk_norm(x) = rmsnorm(x, eps: 0.01)", "block predict(y) = softcap(y, cap: 10)") if r.chance(25)]
        return ["decoder"], "decoder", lines

    def encoder_decoder(self):
        heads, d, text = self.common()
        lines = [text + f"heads {heads}  d_model {d}  d_ff {self.r.pick([5, 16, 31])}"]
        lines += [line for line in ("gated_ffn true", "tied false") if self.r.chance(40)]
        return ["t5"], "t5", lines

    def mixture(self):
        heads, d, text = self.common()
        n = self.r.pick([2, 4, 5])
        lines = [text + f"heads {heads}  kv_heads {heads}  d_model {d}  d_ff {self.r.pick([5, 16, 17])}  experts {n}  active {1 + self.r.below(n)}"]
        return ["mixtures"], "mixtral", lines

    def deepseek(self):
        r = self.r
        heads, d, text = self.common()
        lines = [text + f"heads {heads}  d_model {d}  d_ff {r.pick([7, 16])}  kv_rank 5  nope_dim {r.pick([3, 4])}  rope_dim 2  v_dim 3",
                 "experts 4  active 2  shared_experts 1  hidden 6", "groups 2  active_groups 1"]
        lines += ["q_rank 6"] if r.chance(50) else []
        lines[0] = lines[0].replace("layers 1", "layers 2")
        return ["deepseek"], r.pick(["deepseek", "deepseek_v3"]), lines + ["dense 1"]

    def vision(self):
        r = self.r
        heads, d, _ = self.common()
        lines = [f"layers {1 + r.below(2)}  heads {heads}  d_model {d}  classes {r.pick([3, 16])}",
                 f"picture {r.pick([6, 8, 12])}  patch 2  channels {r.pick([1, 3])}  eps 0.01"]
        return ["vision"], r.pick(["vision_transformer", "deit_distilled"]), lines

    def diffusion(self):
        r = self.r
        heads, d, _ = self.common()
        lines = [f"layers {1 + r.below(2)}  heads {heads}  d_model {4 * d}  classes 5  size {r.pick([4, 6])}  patch 2  channels 2  eps 0.01"]
        return ["diffusion"], "diffusion_transformer", lines
