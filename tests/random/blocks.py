"""What models are made of: attention with its masks and positions, experts, convolutions, blocks of their own, repeats."""

from core import MOST_ELEMENTS, SIZES, Value


class Blocks:
    # ---- attention, in several spellings ----

    def chosen_keys(self, s, most):
        """Keys by rank: integers of which many are equal, so that f32 and f64 choose the same ones.  most: keys there are."""
        r = self.r
        if most > 1 and r.chance(50):
            return self.chosen_blocks(s, most)
        rank = f"real(({r.pick([1, 2, 3, 5])} * col({s}) + {r.pick([1, 2])} * row({s})" + self.maybe(30, f" + head({s})") + f") % {r.pick([2, 5, 7, 11])})"
        if self.causal or r.chance(50):
            return f"causal(where(top(causal({rank}), {1 + r.below(min(most, 8))}), {s}, -inf))"
        return f"where({self.maybe(20, 'not ')}top({rank}, {1 + r.below(min(most, 8))}), {s}, -inf)"

    def chosen_blocks(self, s, most):
        """Blocks of keys by rank."""
        r = self.r
        size = r.pick([1, 2, 3, 4, 8, 16])
        count = (most + size - 1) // size
        heads = self.maybe(30, f" + head({s})")
        rank = f"({r.pick([1, 2, 3, 5])} * iota({count}) + {r.pick([1, 2])} * row({s}){heads}) % {r.pick([2, 5, 7, 11])}"
        if not heads and r.chance(50):  # that of the last key of a block which the row sees
            rank = f"where({size} * iota({count}) <= row({s}), ((3 * col({s}) + row({s})) % 7)[row({s}), min({size} * iota({count}) + {size - 1}, row({s}))], -1)"
        shared = not heads and r.chance(30)
        top = f"top(real({rank}){'[none]' * shared}, {1 + r.below(min(count, 5))})"
        place = f"[col({s}) // {size}]"
        keep = f"transpose(transpose({top}, 2, 0){place}, 0, 2)" if heads or shared else f"{top}'{place}'"
        if shared and r.chance(50):
            keep = f"spread({keep}, {s}.shape[0])"
        masked = f"where({keep}, {s}, -inf)"
        return f"causal({masked})" if self.causal or r.chance(50) else masked

    def mask(self, s, most=1):
        if self.r.chance(20):
            return self.chosen_keys(s, most)
        r, later = self.r, not self.causal
        masks = [f"where(col({s}) <= row({s}), {s}, -inf)", f"{s} + where(col({s}) > row({s}), -inf, 0)",
                 f"where(not (col({s}) > row({s})), {s}, -inf)", f"sliding({s}, window: {1 + r.below(20)})", f"causal({s})",
                 f"where(col({s}) <= row({s}) and (row({s}) - col({s}) < 5 or col({s}) < 2), {s}, -inf)",
                 f"where(col({s}) // 4 <= row({s}) // 4 and col({s}) <= row({s}), {s}, -inf)",
                 f"where(col({s}) <= row({s}) and (row({s}) - col({s})) % 3 != 1, {s}, -inf)",
                 f"where(col({s}) <= row({s}) - head({s}) % 2, {s}, -inf)"]
        if later:
            masks += [s, s, f"near({s}, reach: 3)", f"where((row({s}) + col({s})) % 5 == 0, {s}, -inf)",
                      f"where(row({s}) // 4 == col({s}) // 4, {s}, -inf)", f"where(col({s}) < 3 or col({s}) <= row({s}), {s}, -inf)"]
        return r.pick(masks)

    def position(self, heads, d, rows):
        """A scheme for heads of width d, and what it asks to stand before."""
        r = self.r
        two_sided = "false" if self.causal else "true"
        found = ["none", "none", f"alibi(heads: {heads})", f"alibi(heads: {heads}, steepest: 4, scale: 0.5)",
                 f"(relative(heads: {heads}, two_sided: {two_sided}, buckets: 8, far: 11) as place{self.fresh()})"]
        if d % 2 == 0:
            found += ["rope", "rope(interleaved: true)", "rope(theta: 100, scaling: linear_scaling(factor: 4), stretch: 1.5)",
                      "rope(theta: 100, scaling: llama3_scaling(factor: 8, original: 16))",
                      "rope(theta: 100, scaling: yarn_scaling(theta: 100, factor: 4, original: 16))", "rope(at: twice)",
                      f"longrope(context: 64, trained: 64, original: 32, short: {[1] * (d // 2)}, long: {[2] * (d // 2)})"]
            if d % 4 == 0:
                found += ["rope(part: 0.5)"]
            if d >= 6 and rows is not None:
                found += [f"rope_3d(sizes: [2, {d - 4}, 2], places: [row, twice, row])"]
        chosen = r.pick(found)
        if "twice" in chosen and "block twice(x) = 2 * row(x)" not in self.before:
            self.before.append("block twice(x) = 2 * row(x)")
        for module, word in (("t5", "relative("), ("flux", "rope_3d(")):
            if word in chosen and f"import {module}" not in self.imports:
                self.imports.append(f"import {module}")
        return chosen

    def do_attention(self):
        x = self.rows()
        if not x:
            return None
        r = self.r
        heads = r.pick([1, 2, 3, 4, 6])
        groups = r.pick([g for g in range(1, heads + 1) if heads % g == 0])
        d = r.pick([2, 3, 4, 5, 8, 16, 17])
        if self.long:
            heads = groups = r.pick([1, 2])
        if heads * self.size(x.shape[0]) * max(self.size(x.shape[0]), d) > 4 * MOST_ELEMENTS * (1 + 20 * self.long):
            return None
        memory = x
        if r.chance(25):  # to something else, which in a causal model does not run over positions
            memory = self.any(lambda y: len(y.shape) == 2 and isinstance(y.shape[1], int) and
                              not (self.causal and y.shape[0] == self.time)) or x
        if r.chance(45):
            return self.library_attention(x, memory, heads, groups, d)
        q, k, v, s = (self.fresh() for _ in range(4))
        e = d if r.chance(70) else r.pick([1, 4, 7, 16])
        scale = f"{d ** -0.5:.6g}"
        on = r.below(3)
        self.line(f"{q} = split(linear({x.name}, {heads * d}) as q{q}, {heads})" + (f" * {scale}" if on == 0 else ""))
        self.line(f"{k} = split(linear({memory.name}, {groups * d}, bias: true) as k{q}, {groups})" + (f" * {scale}" if on == 1 else ""))
        self.line(f"{v} = split(linear({memory.name}, {groups * e}) as v{q}, {groups})")
        small = heads * self.size(x.shape[0]) * self.size(memory.shape[0]) * d <= MOST_ELEMENTS
        product = r.pick([f"{q} @ spread({k}, {heads})'"] * 4 + [f"(spread({k}, {heads}) @ {q}')'"] + [
            f"sum(reshape({q}, [.., 1, {d}]) * reshape(spread({k}, {heads}), [{heads}, 1, {memory.shape[0]}, {d}]), axis: 3)"] * small)
        self.line(f"{s} = {product}" + (f" * {scale}" if on == 2 else ""))
        before = f"{s} + 0.1 * {s}[head({s}), row({s}), max(col({s}) - 1, 0)]"
        if r.chance(30):
            self.line(f"{s} = {r.pick([f'softcap({s}, cap: 5)', f'{s} - 0.1 * abs(row({s}) - col({s}))', f'{s} * 0.5 + head({s}) / 8', before, before])}")
        sink = f", sink: {self.weight([heads, 1, 1])}" if r.chance(15) else ""
        masked = self.mask(s, self.size(x.shape[0])) if memory is x else r.pick([s, f"where((row({s}) + col({s})) % 3 != 0, {s}, -inf)"])
        weights = f"softmax({masked}{sink})"
        if r.chance(20):
            whole = (f"causal({s}", "causal(where(top(causal(", "sliding(")  # of these each row sees its own position
            weights = self.softmax_by_hand(masked, masked == s or masked.startswith(whole))
        if r.chance(20):
            p = self.fresh()
            self.line(f"{p} = {weights} * {r.pick(['0.5', '1.5'])}")
            weights = p
        text = f"merge({self.weighted(weights, f'spread({v}, {heads})', e, r.pick([0, 0, 0, 1, 2, 3]))})"
        if r.chance(60):
            return self.let(f"linear({text}, {x.shape[1]})", x.shape, memory.most * 2)
        shape = [x.shape[0], heads * e]
        return self.let(text, shape, memory.most * 2) if self.fits(shape) else None

    def weighted(self, weights, values, width, spelling):
        """Values of this width weighed, in several spellings."""
        if spelling == 1:
            return f"({values}' @ ({weights})')'"
        if spelling == 2:
            return f"({weights} @ join({values} * 2, {values}))[.., {width}..]"
        if spelling == 3:
            return f"({weights} @ pad({values}, before: 1, value: 1))[.., 1..]"
        return f"{weights} @ {values}"

    def softmax_by_hand(self, masked, lives):
        """Scores that are far from what exp makes infinite in doubles.  lives: no row is masked whole, which would be 0 / 0."""
        m = self.fresh()
        self.line(f"{m} = {masked}")
        e, low = f"exp({m} - max({m}))", f"exp({m} * 0.02)"
        alive = [f"{e} / sum({e})", f"{low} / sum({low})", f"{low} * (1 / sum({low}))", f"2 ^ ({m} * 0.02) / sum(2 ^ ({m} * 0.02))",
                 f"softmax({m} - max({m}))"]
        return self.r.pick([f"{low} / (1 + sum({low}))", f"{low} / (sum({low}) + exp({self.weight([1])} * 0.1))"] + alive * lives)

    def library_attention(self, x, memory, heads, groups, d):
        r = self.r
        position = "none" if memory is not x else self.position(heads, d, x.shape[0])
        mask = "causal" if self.causal else r.pick(["none", "causal", "near(reach: 4)", "sliding(window: 6)"])
        if memory is not x:
            keep = self.any(lambda y: y.shape == memory.shape[:1] and not self.grows(y), kind="truth")
            mask = f"visible(keep: where({keep.name}, 1, 0))" if keep else "none"
        elif not self.causal and not self.time and r.chance(30):
            mask = f"visible(keep: where(iota({x.shape[0]}) % 4 == 1, 0, 1), mask: {r.pick(['none', 'causal'])})"
        width, shape = "", x.shape
        if r.chance(15):
            shape = [x.shape[0], r.pick(SIZES)]
            width = f", width: {shape[1]}"
        extra = r.pick(["", "", "", ", cap: softcap(cap: 4)", ", norm: rmsnorm(eps: 0.01)", ", bias: true", ", clip: clamp(most: 0.5)",
                        ", k_bias: true", ", out_bias: true", ", scale: 0.3", ", norm: layernorm(eps: 0.01)"])
        if memory is x and r.chance(15) and d > 2:
            position = "rope" if d % 2 == 0 else "none"
            if "import deepseek" not in self.imports:
                self.imports.append("import deepseek")
            if self.causal and position == "rope":
                rank = self.maybe(50, "q_rank: 6, ")
                return self.let(f"latent_attention({x.name}, heads: {heads}, {rank}kv_rank: 5, nope_dim: {d}, rope_dim: 4, "
                                f"v_dim: 3, position: rope(interleaved: true), scale: 0.4)", x.shape, memory.most * 2)
        return self.let(f"attention({x.name}, {memory.name}, heads: {heads}, kv_heads: {groups}, head_dim: {d}, "
                        f"position: {position}, mask: {mask}{width}{extra})", shape, memory.most * 2)

    def do_tokens(self):
        """Learned rows before the sequence, which take part in attention and go again."""
        x = self.rows(lambda y: y.shape[1] > 1)
        if not x or self.elements(x.shape) > 1500:
            return None
        n, t, u = 1 + self.r.below(3), self.fresh(), self.fresh()
        w = self.weight([n, x.shape[1]])
        self.line(f"{t} = join({w}, {x.name}, axis: 0)")
        mask = "causal" if self.causal else self.r.pick(["none", "near(reach: 5)"])
        self.line(f"{u} = {t} + attention({t}, heads: 2, head_dim: 4, mask: {mask}) as attn{u}")
        return self.let(f"{u}[{n}..]", x.shape, x.most + 2)

    def do_position(self):
        """A scheme on the sequence."""
        x = self.rows(lambda y: y.shape[1] % 2 == 0)
        if not x:
            return None
        length = self.size(x.shape[0])
        scheme = self.r.pick([f"learned(length: {length})", f"learned(length: {length + 3}, offset: 2)", "sinusoidal",
                              "sinusoidal(concatenated: true, base: 50)"])
        name = self.fresh()
        self.line(f"{name} = {scheme}")
        return self.let(f"{name}.sequence({x.name})", x.shape, x.most + 1)

    # ---- experts ----

    def do_experts(self):
        x = self.rows(lambda y: y.shape[1] > 1)
        if not x:
            return None
        r = self.r
        n = r.pick([2, 3, 4, 6, 8])
        groups = r.pick([g for g in (1, 2, 3) if n % g == 0 and n // g >= 2] or [1])
        active, some = 1 + r.below(n // groups), 1 + r.below(groups)
        data = self.any(lambda y: y.shape == x.shape[:1] + [1] or y.shape == x.shape[:1], kind="int")
        turn = f" + {data.name}" + ("[.., none]" if len(data.shape) == 1 else "") if data else " + 3 * row(logits)" if r.chance(60) else ""
        grouped = f", active: {active}, groups: {groups}, active_groups: {some}"
        route = r.pick([f"softmax_of_top(l, active: {active})", f"top_of_softmax(l, active: {active})",
                        f"top_in_groups(l{grouped}, factor: 1.5)", f"balanced_in_groups(l{grouped})",
                        f"balanced_in_groups(l{grouped}, normalise: false)"])
        name = self.fresh()
        self.library("experts")
        self.open(f"block route_{name}(logits)")
        self.line(f"l = (({r.pick([1, 3])} * col(logits){turn}) % {n} + 0.25 * tanh(logits)) * 0.5 - 1")
        self.line(f"return {route}")
        self.close()
        if r.chance(70):
            expert = r.pick(["", "", ", expert: geglu", ", expert: mlp"])
            return self.let(f"routed({x.name}, experts: {n}, hidden: {r.pick(SIZES)}, route: route_{name}{expert})", x.shape, x.most + 3)
        gate, y = self.fresh(), self.fresh()  # stacked, not summed
        self.line(f"{gate} = route_{name}(linear({x.name}, {n}) as router{name})")
        self.line(f"{y} = over expert{name}[e] : {n} {{ return {gate}[.., e..e + 1] * linear({x.name}, {x.shape[1]}) }}")
        return self.let(f"{r.pick(['max', 'sum'])}({y}, axis: 0)", x.shape, x.most + 3)

    # ---- along the sequence ----

    def do_convolution(self):
        """A window over the sequence, which in a causal model ends at each position."""
        x = self.rows()
        if not x:
            return None
        n, r = self.r.pick([2, 3, 4]), self.r
        if r.chance(30):  # the row before
            return self.let(f"pad({x.name}, axis: 0, before: 1)[..-1]", x.shape, x.most)
        if not self.time and isinstance(x.shape[0], int) and x.shape[0] > 4 and r.chance(60):
            pad, stride, out = r.below(2), 1 + r.below(2), r.pick(SIZES)
            rows = (x.shape[0] + 2 * pad - 3) // stride + 1
            return self.let(f"conv1d({x.name}, {out}, size: 3, stride: {stride}, pad: {pad})", [rows, out], x.most * 2)
        w = self.weight([n, x.shape[1]])
        return self.let(f"sum(window(pad({x.name}, axis: 0, before: {n - 1}), {n}, axis: 0) * {w}, axis: 1)", x.shape, x.most * n)

    def do_running(self):
        """Over what came before: a mean, a maximum, a count, by a mask and no softmax."""
        x = self.rows(lambda y: y.shape[1] < 20)
        if not x or self.size(x.shape[0]) ** 2 * x.shape[1] > 4 * MOST_ELEMENTS:
            return None
        m = self.fresh()
        self.line(f"{m} = where(index({x.name}, 0) <= index({x.name}, 0)[.., none]{self.maybe(40, f' and index({x.name}, 0) % 3 != 2')}, 1, 0)")
        kind = self.r.below(3)
        if kind == 0:
            return self.let(f"({m} / (sum({m}) + 1)) @ {x.name}", x.shape, x.most)
        if kind == 1:
            return self.let(f"{m} @ {x.name} * 0.25", x.shape, x.most * 8)
        return self.let(f"max(where({m}[.., none] == 1, {x.name}[none], -8), axis: 1)", x.shape, max(x.most, 8))

    # ---- blocks of the model's own ----

    def do_block(self):
        x = self.any(lambda y: isinstance(y.shape[-1], int))
        if not x:
            return None
        r, name = self.r, self.fresh()
        d = x.shape[-1]
        if r.chance(40):
            n = r.pick(SIZES[:10])
            self.line(f"shared f{name} = {r.pick(['linear', 'linear'])}(n: {n}, bias: true)")
            if not self.fits(x.shape[:-1] + [2 * n]) or len(x.shape) < 2:
                return None
            return self.let(f"join(f{name}({x.name}), f{name}({x.name} * 0.5))", x.shape[:-1] + [2 * n], x.most * 1.5)
        self.open(f"block b{name}(x; by = 2, act = none)")
        self.line(f"gain : weight[{d}] = 1")
        self.line("y = if by > 1 then x / by else x")
        self.line("if by % 2 == 1 { y = y + 0.25 }")
        self.line("return act(y * gain), y")
        self.close()
        y, z = self.fresh(), self.fresh()
        self.line(f"{y}, {z} = b{name}({x.name}, by: {r.pick([1, 2, 3])}, act: {r.pick(['tanh', 'silu', 'none', 'clamp(most: 0.5)'])}) as use{name}")
        self.add(y, x.shape, x.most * 2 + 1)
        return self.add(z, x.shape, x.most + 1)

    # ---- repeats ----

    def do_repeat(self):
        """x = x + f(x), several times; bodies may differ, and constants from iteration to iteration."""
        x = self.any(lambda y: len(y.shape) > 1 and isinstance(y.shape[-1], int))
        if not x or self.depth > 2 or (self.depth > 1 and self.nested):
            return None
        r, iterations, name, outer, i = self.r, 1 + self.r.below(5), self.fresh(), self.pool, f"i{self.depth}"
        if self.depth > 1:
            iterations, self.nested = 2, True
        carried = self.let(f"{x.name} + 0", x.shape, x.most)
        other = self.let(f"{x.name} * 0.5", x.shape, x.most) if r.chance(25) else None
        self.open(f"repeat {name}[{i}] : {iterations}")
        self.pool = outer + [Value(carried.name, x.shape, 6)] + ([Value(other.name, x.shape, 6)] if other else [])
        if r.chance(40):
            self.let(f"{carried.name} * (1 + {i}) / {r.pick([2, 7])}", x.shape, 6 * iterations)
        if r.chance(30):
            self.let(f"at([0.5, -1, 0.25], {i}) * {carried.name} / len([1, 2])", x.shape, 6)
        if r.chance(20) and x.shape[-1] > iterations + 1:
            self.let(f"{carried.name}[.., {i}..{i} + 1] + {carried.name}", x.shape, 12)
        for _ in range(1 + r.below(4)):
            self.step(deep=True)
        last = self.any(lambda y: y.shape == x.shape)
        self.used.add(carried.name)
        self.leave(carried, other, last, i)
        made = [v for v in self.pool[len(outer):] if v.name not in (carried.name, other and other.name)]
        self.pool = outer
        self.close()
        carried.most = 1 + 3 * iterations
        self.keep_iterations(name, iterations, carried, made)
        if other:
            other.most = 1 + 3 * iterations
        self.nested = self.nested and self.depth > 1
        return carried

    def leave(self, carried, other, last, i):
        """What an iteration leaves for the next."""
        r = self.r
        if r.chance(30):
            self.line(f"if {i} % {r.pick([2, 3])} == 1 {{")
            inner = r.pick([f"tanh({last.name})", f"{last.name} * 0.5", f"rmsnorm({last.name}, eps: 0.01)"])
            self.line(f"    {carried.name} = {carried.name} + {inner}")
            if r.chance(30):
                self.line(f"}} else if {i} == 2 {{")
                self.line(f"    {carried.name} = {carried.name} * 0.75 + 0.125")
            self.line("} else {")
            self.line(f"    {carried.name} = tanh({carried.name} + {last.name} / 4)")
            self.line("}")
        else:
            self.line(f"{carried.name} = tanh({carried.name} / 2 + {last.name} / {1 + last.most:.3g})")
        if other and r.chance(50):
            self.line(f"{other.name}, {carried.name} = [{carried.name}, {other.name}]")
        elif other:
            self.line(f"{other.name} = {other.name} * 0.5 + sin({last.name})")

    def do_over(self):
        """The same of several weights, stacked, summed or looked at one by one."""
        x = self.any(lambda y: len(y.shape) == 2 and isinstance(y.shape[1], int) and y.shape[0] != y.shape[1])
        if not x or self.depth > 2:
            return None
        r, n, width, name = self.r, 1 + self.r.below(4), self.r.pick([3, 8, 16, 17]), self.fresh()
        shape = [n, x.shape[0], width]
        if not self.fits(shape):
            return None
        if r.chance(25):
            y = self.fresh()
            self.open(f"{y} = over row{name}[j] : {n}")
            self.line(f"return over column{name}[k] : 2 {{ w : weight[{x.shape[1]}];  return w * {x.name} + (j - k) / 4 }}")
            self.close()
            return self.let(f"sum(sum({y}, axis: 0), axis: 0) / 4", x.shape, x.most * 2)
        if r.chance(25):
            a, b = self.fresh(), self.fresh()
            self.line(f"{a}, {b} = over part{name}[e] : {n} {{ return tanh({x.name} * (1 + e)), linear({x.name}, {width}) }}")
            self.add(a, [n] + x.shape, 1)
            return self.add(b, shape, x.most * 2)
        body = r.pick([f"linear({x.name}, {width}) * (1 + e)", f"silu(linear({x.name}, {width}))"])
        y = self.let(f"over part{name}[e] : {n} {{ return {body} }}", shape, x.most * 3)
        if r.chance(50):
            return self.let(r.pick([f"sum({y.name}, axis: 0)", f"max({y.name}, axis: 0)", f"{y.name}[0] - {y.name}[-1]"]), shape[1:], x.most * 6)
        return y
