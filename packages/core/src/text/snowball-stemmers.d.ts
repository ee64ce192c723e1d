/** The little of `snowball-stemmers` that is used; the package brings no types. */
declare module "snowball-stemmers" {
  /** Cuts the ending off a word that is in lower case. */
  interface Stemmer {
    stem(word: string): string;
  }
  function newStemmer(algorithm: string): Stemmer;
  function algorithms(): readonly string[];
}
