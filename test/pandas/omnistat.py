"""The lines of Omnistat's manual on exported data, unchanged, on the file in the current folder; prints what they give."""
import json

import pandas

df = pandas.read_csv("omnistat-rocm.csv", header=[0, 1, 2], index_col=0)

# Select a single metric
one_metric = df["rocm_utilization_percentage"]

# Select a single metric and node
one_node = df["rocm_utilization_percentage"]["node01"]

# Select a single metric, node, and GPU
one_gpu = df["rocm_utilization_percentage"]["node01"]["0"]

# Select GPU Utilization and GPU Memory Utilization for GPU ID 0 in all nodes
zero = df.loc[:, pandas.IndexSlice[["rocm_utilization_percentage", "rocm_vram_used_percentage"], :, ["0"]]]

df.index = pandas.to_datetime(df.index)

# Create a new dataframe with node averages
node_mean_df = df["rocm_utilization_percentage"].T.groupby(level=['instance']).mean().T

plotted = None
try:
    import matplotlib
except ImportError:
    pass
else:
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    axes = node_mean_df.plot(linewidth=1)
    plt.title("Mean utilization per node")
    plt.xlabel("Time")
    plt.ylabel("GPU Utilization (%)")
    plt.show()
    plotted = [list(line.get_ydata()) for line in axes.get_lines()]


def plain(values):
    return [None if pandas.isna(value) else float(value) for value in values]


# The other file has one level more
network = pandas.read_csv("omnistat-network.csv", header=[0, 1, 2, 3], index_col=0)

print(json.dumps({
    "levels": list(df.columns.names),
    "index": df.index.name,
    "times": [str(time) for time in df.index],
    "zone": str(df.index.tz),
    "metrics": list(dict.fromkeys(df.columns.get_level_values(0))),
    "cards": list(one_node.columns),
    "shape": list(one_metric.shape),
    "one_gpu": plain(one_gpu),
    "zero_columns": [list(column) for column in zero.columns],
    "zero_means": plain(zero.mean()),
    "node_means": {node: plain(node_mean_df[node]) for node in node_mean_df.columns},
    "plotted": plotted,
    "dtypes": sorted({str(kind) for kind in df.dtypes}),
    "network_levels": list(network.columns.names),
    "network_columns": [list(column) for column in network.columns],
    "received": plain(network["omnistat_network_rx_bytes"]["node02"]["infiniband"]["mlx5_0"]),
}))
