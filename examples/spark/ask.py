"""Asks an archive of Tacho's in SQL, on Spark: spark-submit ask.py ARCHIVE [--table gpu] "select ..." ["select ..."]

jobs, job_nodes, node_hours and findings are the summary tables (`tacho index`). Each --table is a table of all sealed
recordings below the archive, with the columns recording and node. Answers are JSON, one line per query.
"""

import argparse
import json

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

SUMMARIES = ["jobs", "job_nodes", "node_hours", "findings"]


def summary_table(spark: SparkSession, archive: str, name: str) -> DataFrame:
    """One of the summary tables; `day` is its partition, so a condition on it spares files."""
    return spark.read.option("mergeSchema", True).parquet(f"{archive}/.tacho-index/{name}")


def sealed_table(spark: SparkSession, archive: str, name: str) -> DataFrame:
    """A table of all sealed recordings; `recording` is that of the table jobs."""
    rows = (
        spark.read.option("recursiveFileLookup", True)
        .option("pathGlobFilter", f"{name}.parquet")
        .option("mergeSchema", True)
        .parquet(archive)
    )
    path = f.col("_metadata.file_path")
    return rows.select(
        f.regexp_extract(path, r"([^/]+(?:/job=[^/]+)?)/node=[^/]+/[^/]+$", 1).alias("recording"),
        f.regexp_extract(path, r"/node=([^/]+)/[^/]+$", 1).alias("node"),
        "*",
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("archive")
    parser.add_argument("queries", nargs="+")
    parser.add_argument("--table", action="append", default=[])
    given = parser.parse_args()
    spark = (
        SparkSession.builder.config("spark.sql.session.timeZone", "UTC")  # as in the files
        # Spark's vectorised reader lacks an encoding of fractions (BYTE_STREAM_SPLIT); its other reader has it
        .config("spark.sql.parquet.enableVectorizedReader", False)
        .getOrCreate()
    )
    for name in SUMMARIES:
        summary_table(spark, given.archive, name).createOrReplaceTempView(name)
    for name in given.table:
        sealed_table(spark, given.archive, name).createOrReplaceTempView(name)
    for query in given.queries:
        print(json.dumps([row.asDict() for row in spark.sql(query).collect()], default=str))


if __name__ == "__main__":
    main()
