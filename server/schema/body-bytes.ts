/** How many bytes the body of a request may have. */
export const BODY_BYTES = {
  /** JSON that holds no card data, and certificates. */
  short: 65_536,
  /** One item, and what is captured. */
  item: 262_144,
  /** A rule, and its test. */
  rule: 262_144,
  /** Many items by their tokens. */
  tokens: 524_288,
  /** A form, whose code and pictures are in it; an order of the proxy, and what is relayed. */
  long: 1_048_576,
  /** Many items to store. */
  items: 8_388_608,
} as const;
