// SPDX-License-Identifier: BSD-2-Clause
// One of the many units of a program with a gigabyte of debug information: templates, inlined
// functions, lambdas.  The name of the namespace is replaced in the object file, unit by unit.
#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

namespace bench_0000 {

template <int N> struct key {
	int number;
	std::string text;

	bool operator<(const key &o) const { return number < o.number || text < o.text; }
};

template <int N> int work(int n)
{
	std::map<key<N>, std::vector<key<N>>> lists;
	std::unordered_map<std::string, key<N>> named;
	std::set<key<N>> keys;
	std::vector<key<N>> all;

	for (int i = 0; i < n; i++) {
		const key<N> k{i * N, std::to_string(i)};

		lists[k].push_back(k);
		named[k.text] = k;
		keys.insert(k);
		all.push_back(k);
	}
	std::sort(all.begin(), all.end());
	std::stable_sort(all.begin(), all.end());
	const std::function<int(const key<N> &)> weigh = [&](const key<N> &k) {
		return k.number + static_cast<int>(lists.size() + named.size());
	};
	int sum = 0;
	for (const auto &k : all)
		sum += weigh(k);
	const auto shared = std::make_shared<std::map<int, key<N>>>();
	for (const auto &k : keys)
		(*shared)[k.number] = k;
	return sum + static_cast<int>(shared->size());
}

int all(int n)
{
	return work<1>(n) + work<2>(n) + work<3>(n) + work<4>(n) + work<5>(n) + work<6>(n) +
	       work<7>(n) + work<8>(n);
}

}
