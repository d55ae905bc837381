/** The group of the cases of the cache, for the suite that runs them and the program that compares what ran where. */
export const TITLE = 'informers over fetch';
