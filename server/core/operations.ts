export type MeterOperation = (typeof OPERATIONS)[number];

/** Every billable operation, in the order in which bills name them. */
export const OPERATIONS = [
  'store',
  'decrypt',
  'list',
  'update',
  'delete',
  'log',
  'capture_create',
  'capture',
  'retrieve_create',
  'retrieve',
  'key',
  'rule',
  'proxy_attempt',
  'network_token',
  'certificate',
  'preference',
  'utility',
] as const;
