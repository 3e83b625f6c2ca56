// The page around a report's JSON.
#ifndef RULES_DNN_RUNTIME_BENCH_PAGE_H_
#define RULES_DNN_RUNTIME_BENCH_PAGE_H_

namespace rules_dnn::bench {

// The parts of the page before the title, before the heading, before the figures and after them.
extern const char* const kPageBeforeTitle;
extern const char* const kPageBeforeHeading;
extern const char* const kPageBefore;
extern const char* const kPageAfter;

}  // namespace rules_dnn::bench

#endif  // RULES_DNN_RUNTIME_BENCH_PAGE_H_
