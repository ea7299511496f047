"""Further modules of the library: conditions, pictures, grids, streams."""


class Library:
    # ---- of vision and diffusion ----

    def library(self, module):
        if f"import {module}" not in self.imports:
            self.imports.append(f"import {module}")

    def do_condition(self):
        """A vector of conditions scales, shifts and weighs rows."""
        x = self.rows(lambda y: y.shape[1] > 1)
        scalars = [v.name for v in self.pool if not v.shape and v.kind == "real"]
        if not x:
            return None
        self.library("diffusion")
        c, d = self.fresh(), x.shape[1]
        step = self.r.pick(scalars) if scalars else "0.3"
        self.line(f"{c} = embedder(timestep({step}, width: 8), {d})")
        if self.r.chance(50):
            six = self.fresh()
            self.line(f"{six} = vectors({c}, n: 6)")
            mask = "causal" if self.causal else "none"
            block = f"attend_{c}"
            self.line(f"block {block}(x) = attention(x, heads: 2, head_dim: 3, mask: {mask})")
            self.line(f"block ffn_{c}(x) = mlp(x, 9)")
            return self.let(f"dit_layer({x.name}, {six}, attend: {block}, ffn: ffn_{c}, eps: 0.01)", x.shape, x.most + 9)
        a, b = self.fresh(), self.fresh()
        self.line(f"{a}, {b} = vectors({c}, n: 2) as ada{a}")
        return self.let(f"modulated({x.name}, {a}, {b}, eps: 0.01)", x.shape, 10)

    def do_picture(self):
        """Patches of a picture and back, windows of a grid, learned places."""
        if self.time:
            return None
        r = self.r
        x = self.any(lambda y: len(y.shape) == 3 and y.shape[1] == y.shape[2] and y.shape[1] in range(0, 999, 2))
        if x and r.chance(60):
            self.library("vision")
            patch = r.pick([p for p in (2, 4) if x.shape[1] % p == 0])
            c, n = x.shape[0], x.shape[1] // patch
            shape = [n * n, c * patch * patch]
            if r.chance(40):
                name = f"placed{self.fresh()}"
                return self.let(f"with_places(with_tokens(patches({x.name}, patch: {patch})) as {name})", [shape[0] + 1, shape[1]], x.most + 2)
            return self.let(f"patches({x.name}, patch: {patch})", shape, x.most)
        x = self.rows(lambda y: y.shape[0] in (4, 16, 36) and y.shape[1] > 1)
        if x:
            self.library("swin")
            side = int(x.shape[0] ** 0.5)
            size = r.pick([s for s in (2, 3) if side % s == 0])
            return self.let(f"window_attention({x.name}, heads: {r.pick([h for h in (1, 2, 3) if x.shape[1] % h == 0])}, side: {side}, "
                            f"size: {size}, shift: {r.below(size)})", x.shape, x.most * 2)
        x = self.rows(lambda y: y.shape[1] > 1)
        if not x:
            return None
        self.library("vision")
        if r.chance(50):
            return self.let(f"layer_scale({x.name})", x.shape, x.most)
        self.library("contrastive")
        return self.let(f"unit({x.name} + 0.5)", x.shape, 1)

    def do_streams(self):
        """Two sequences that attend to each other: the second is another one, or learned."""
        x = self.rows(lambda y: y.shape[1] % 2 == 0)
        if not x or self.causal:
            return None
        self.library("joint")
        a, b, d = self.fresh(), self.fresh(), x.shape[1]
        y = self.any(lambda z: len(z.shape) == 2 and z.shape[1] == d and z.shape[0] != x.shape[0])
        name, rows = (y.name, y.shape[0]) if y else (self.weight([5, d]), 5)
        norm = self.maybe(40, ", norm: rmsnorm(eps: 0.01)")
        self.line(f"{a}, {b} = joint_attention({x.name}, {name}, heads: 2{norm}) as joint{a}")
        if self.r.chance(40):
            self.line(f"{b}_fed = feed({b}, 0.5, 0.25, 0.75)")
            b = f"{b}_fed"
        self.add(a, x.shape, x.most * 2)
        return self.add(b, [rows, d], 4)

    def grid(self, n):
        """Three factors of n."""
        t = self.r.pick([k for k in (1, 2, 3, 4) if n % k == 0])
        h = self.r.pick([k for k in range(1, 8) if (n // t) % k == 0])
        return [t, h, n // t // h]

    def do_grid(self):
        """Rows as places of a grid of frames."""
        x = self.rows(lambda y: isinstance(y.shape[0], int) and y.shape[1] > 1)
        if not x or self.time or self.elements(x.shape) > 2000:
            return None
        self.library("neighbourhood")
        r, name, (t, h, w) = self.r, self.fresh(), self.grid(x.shape[0])
        if r.chance(30) and x.shape[1] % 2 == 0:
            st, sw = (2 if t > 1 and r.chance(50) else 1), r.pick([1, 2])
            rows = (t * st - (st == 2)) * h * w * sw
            return self.let(f"shuffled({x.name}, grid: [{t}, {h}, {w}], strides: [{st}, 1, {sw}], reduction: 2)",
                            [rows, x.shape[1] // 2], x.most * 2)
        if r.chance(50) and x.shape[1] % 4 == 0:
            v = self.fresh()
            self.line(f"{v} = frame_unpatches({x.name}, grid: [{t}, {h}, {w}], patch: 2)")
            return self.let(f"frame_patches({v} * 0.5, patch: 2)", x.shape, x.most)
        size = [1 + r.below(n) for n in (t, h, w)]
        self.line(f"block near_{name}(s) = neighbourhood(s, grid: [{t}, {h}, {w}], window: {size})")
        turned = r.chance(60)
        position = f"grid_rope(grid: [{t}, {h}, {w}], head_dim: 10)" if turned else "none"
        return self.let(f"attention({x.name}, heads: 2, head_dim: 10, position: {position}, mask: near_{name})", x.shape, x.most * 2)

    def do_pool(self):
        """All rows into one, or by a small tower into themselves; looks at other rows."""
        x = self.rows(lambda y: y.shape[1] % 2 == 0)
        if not x or self.causal:
            return None
        r, d, name = self.r, x.shape[1], self.fresh()
        kind = r.below(5)
        if kind == 0:
            self.library("contrastive")
            self.line(f"block ffn_{name}(x) = mlp(x, 5)")
            return self.let(f"attention_pool({x.name}, heads: 2, norm: layernorm(eps: 0.01), ffn: ffn_{name})", [d], x.most * 2)
        if kind == 1:
            self.library("contrastive")
            self.line(f"block ffn_{name}(x) = mlp(x, 5)")
            self.line(f"block attend_{name}(x) = attention(x, heads: 2)")
            return self.let(f"tower({x.name}, layers: 2, norm: rmsnorm(eps: 0.01), attend: attend_{name}, ffn: ffn_{name})", x.shape, x.most + 6)
        if kind == 2 and not self.time:
            self.library("bert")
            return self.let(f"mean_pool({x.name} + 0.5, keep: where(iota({x.shape[0]}) % 3 == 1, 0, 1) + 0.5)", [d], 1)
        if kind == 3:
            self.library("video")
            memory = self.any(lambda y: len(y.shape) == 2 and isinstance(y.shape[1], int)) or x
            return self.let(f"and_attention({x.name}, memory: {memory.name}, heads: 2)", x.shape, x.most + memory.most * 2)
        if d > 2:
            self.library("whisper")
            return self.let(f"{x.name} + timescales(row({x.name}), {d})", x.shape, x.most + 1)
        self.library("olmos")
        return self.let(f"merge(over_heads(split({x.name}, 2), f: rmsnorm(eps: 0.01)))", x.shape, 5)
