/** The groups of cases with servers, for the suite and for the comparison of what ran where. */
export const CACHE_CASES = 'informers over fetch';
export const CONTROLLER_CASES = 'controllers over fetch';
