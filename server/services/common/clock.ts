/** Milliseconds since 1970. Services take their clock as a parameter, so that a test can set it. */
export type Clock = () => number;

/** 128 random bits in URL-safe characters. */
export type RandomId = () => string;

/** A random number from 0 up to, not including, 1: it spreads events in time. */
export type RandomFraction = () => number;
