/** Numbers that Parquet's own definition (parquet.thrift) gives to things. */
export const Type = { INT64: 2, DOUBLE: 5, BYTE_ARRAY: 6 } as const;
export const Repetition = { REQUIRED: 0, OPTIONAL: 1 } as const;
export const Converted = { UTF8: 0, TIMESTAMP_MICROS: 10 } as const;
export const Encoding = { PLAIN: 0, RLE: 3, DELTA_BINARY_PACKED: 5, RLE_DICTIONARY: 8, BYTE_STREAM_SPLIT: 9 } as const;
export const Codec = { ZSTD: 6 } as const;
export const PageType = { DICTIONARY: 2, DATA_V2: 3 } as const;
export const MAGIC = 'PAR1';
/** Under this key a file's footer holds the table's description as JSON. */
export const TABLE_KEY = 'tacho.table';
/** Under this one the same, compressed with zstd, in base64. */
export const PACKED_TABLE_KEY = 'tacho.table.zst';

export type ParquetType = 'time' | 'key' | 'int' | 'float' | 'text';
