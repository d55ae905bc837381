/**
 * The groups of cases that have servers, for the suite that runs them and the program that compares
 * what ran where.
 */
export const CACHE_CASES = 'informers over fetch';
export const CONTROLLER_CASES = 'controllers over fetch';
