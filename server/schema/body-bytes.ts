/** Maximum bytes of the body of a request. */
export const BODY_BYTES = {
  /** JSON without card data, and certificates. */
  short: 65_536,
  /** One item, and captured data. */
  item: 262_144,
  /** A rule, and its test. */
  rule: 262_144,
  /** Many items by their tokens. */
  tokens: 524_288,
  /** A form with its code and pictures; an order of the proxy, and relayed bodies. */
  long: 1_048_576,
  /** Many items to store. */
  items: 8_388_608,
} as const;
