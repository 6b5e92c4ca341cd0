// How results of the search are ordered: of names that match, the one nearest to the package's root stands first, and
// before pages. The numbers are Sphinx's own.
var Scorer = {
  score: ([, title, , , score, , kind]) =>
    kind === "object" ? score + Math.max(0, 4 - title.split(".").length) : score,
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};
