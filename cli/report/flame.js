// SPDX-License-Identifier: BSD-2-Clause
// Zooming and searching in a flame graph.  The zoomed frame and the search text are in the URL's fragment
// ("#zoom=12&search=lock"), so that views can be linked and the browser can go back to them.
"use strict";
(() => {
	const svg = document.currentScript.closest("svg");
	const one = (selector) => svg.querySelector(selector);
	const number = (element, name) => Number(element.getAttribute(name));
	const PAD = number(svg, "data-pad"), ROW = number(svg, "data-row"), TOP = number(svg, "data-top");
	const CHAR = number(svg, "data-char"), NARROW = number(svg, "data-narrow");
	const unit = svg.getAttribute("data-unit");
	const HTML = "http://www.w3.org/1999/xhtml";
	const height = svg.viewBox.baseVal.height;
	let deepest = 0, upright = false, current = null;	// upright: callees above their callers

	// In the order of drawing: a frame comes before all that is in it.
	const frames = [...svg.querySelectorAll(".frame")].map((g, i) => {
		const title = g.querySelector("title").textContent, depth = number(g, "data-depth");
		deepest = Math.max(deepest, depth);
		return { i, g, depth, title, rect: g.querySelector("rect"), text: g.querySelector("text"),
			from: number(g, "data-from"), n: number(g, "data-samples"),
			name: title.slice(0, title.lastIndexOf(" (")), label: [...g.getAttribute("data-name")] };
	});
	const frameOf = new Map(frames.map((f) => [f.g, f]));
	const holds = (a, b) => a.from <= b.from && a.from + a.n >= b.from + b.n && a.depth <= b.depth;
	const percent = (n) => (frames[0].n ? 100 * n / frames[0].n : 0).toFixed(2) + "%";

	const state = () => new URLSearchParams(location.hash.slice(1));
	function change(key, value) {
		const s = state();
		if (value)
			s.set(key, value);
		else
			s.delete(key);
		location.hash = s;
	}

	function fit(label, width) {
		const room = Math.floor((width - 6) / CHAR);
		if (room < 3)
			return "";
		return (label.length <= room ? label : [...label.slice(0, room - 1), "…"]).join("");
	}

	function place(f, x, width) {
		const y = TOP + ROW * (upright ? deepest - f.depth : f.depth);
		f.rect.setAttribute("x", x);
		f.rect.setAttribute("y", y);
		f.rect.setAttribute("width", width > 3 ? width - 0.6 : width);
		f.text.setAttribute("x", x + 3);
		f.text.setAttribute("y", y + ROW - 5);
		f.text.textContent = fit(f.label, width);
	}

	function zoom(focus) {
		const width = Math.max(svg.getBoundingClientRect().width, 240), inner = width - 2 * PAD;
		const scale = focus.n ? inner / focus.n : 0;
		svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
		for (const f of frames) {
			const around = f !== focus && holds(f, focus);
			f.shown = around || (holds(focus, f) && f.n * scale >= NARROW);
			f.g.style.display = f.shown ? "" : "none";
			f.g.classList.toggle("around", around);
			if (around)
				place(f, PAD, inner);
			else if (f.shown)
				place(f, PAD + (f.from - focus.from) * scale, f.n * scale);
		}
		reset.hidden = focus === frames[0];
	}

	// A pattern without capitals matches in either case.
	function search(pattern) {
		let regex = null, end = 0, samples = 0;
		try {
			regex = pattern ? new RegExp(pattern, /[A-Z]/.test(pattern) ? "u" : "iu") : null;
		} catch (e) {
			matched.textContent = "no regular expression";
		}
		for (const f of frames) {
			const match = regex !== null && f !== frames[0] && regex.test(f.name);
			f.g.classList.toggle("match", match);
			if (match && f.from >= end) {	// not in one that is counted
				samples += f.n;
				end = f.from + f.n;
			}
		}
		if (regex)
			matched.textContent = `matched: ${samples} ${unit}, ${percent(samples)}`;
		else if (!pattern)
			matched.textContent = "";
		if (input !== document.activeElement)
			input.value = pattern;
	}

	function draw() {
		const s = state();
		zoom(frames[s.get("zoom") ?? 0] ?? frames[0]);
		search(s.get("search") ?? "");
	}

	function select(f) {
		if (!f)
			return;
		current = f;
		f.g.setAttribute("tabindex", "-1");
		f.g.focus();
	}

	// The next frame of that depth to the left or right, the caller, or the first callee.
	function neighbour(key) {
		const f = current ?? frames[0], step = key === "ArrowLeft" ? -1 : 1;
		if (key === "ArrowLeft" || key === "ArrowRight") {
			for (let i = f.i + step; frames[i]; i += step)
				if (frames[i].shown && frames[i].depth === f.depth)
					return frames[i];
			return null;
		}
		if ((key === "ArrowUp") === upright)
			return frames.slice(f.i + 1).find((g) => g.shown && holds(f, g) && g.depth === f.depth + 1);
		return frames.slice(0, f.i).reverse().find((g) => holds(g, f));
	}

	function key(event) {
		if (event.key === "Escape") {
			input.blur();
			location.hash = "";
		} else if (event.target === input || event.ctrlKey || event.altKey || event.metaKey) {
			return;
		} else if (event.key === "/") {
			input.focus();
			input.select();
		} else if (event.key === "i") {
			upright = !upright;
			draw();
			frames[0].g.scrollIntoView({ block: "nearest" });
		} else if (event.key.startsWith("Arrow")) {
			select(neighbour(event.key));
		} else if (event.key === "Enter" && frameOf.has(event.target)) {
			change("zoom", frameOf.get(event.target).i);
		} else {
			return;
		}
		event.preventDefault();
	}

	function tell(event) {
		const f = frameOf.get(event.target.closest(".frame"));
		detail.textContent = f ? f.title : "";
	}

	// Controls are of use with this script only, so they come from it.
	function html(name, properties) {
		const element = Object.assign(document.createElementNS(HTML, name), properties);
		one("#controls").append(element);
		return element;
	}
	const input = html("input", { type: "search", placeholder: "search ( / )" });
	const reset = html("button", { textContent: "all ( Esc )", hidden: true });
	const matched = html("output", { id: "matched" }), detail = one("#detail");
	input.setAttribute("aria-label", "search functions by a regular expression");
	input.addEventListener("input", () => change("search", input.value));
	reset.addEventListener("click", () => change("zoom", ""));
	one("#frames").addEventListener("click", (event) => {
		const f = frameOf.get(event.target.closest(".frame"));
		if (f)
			change("zoom", f.i);
	});
	svg.addEventListener("mouseover", tell);
	svg.addEventListener("focusin", tell);
	window.addEventListener("keydown", key);
	window.addEventListener("hashchange", draw);
	window.addEventListener("resize", draw);
	svg.setAttribute("width", "100%");
	svg.style.height = `${height}px`;
	frames[0].g.setAttribute("tabindex", "0");
	draw();
})();
