/* Gradients of programs given as text, by the whole reverse walk: against central differences in
 * f64, and as compiled plans against the interpreter. */
#ifndef TESTS_GRADIENT_TEXT_H
#define TESTS_GRADIENT_TEXT_H

/* @main takes f64 tensors (at most 8, drawn from [lo, hi]) and returns an f64 scalar. Its gradient,
 * and that of half the square of its gradient, agree with differences of step 1e-5 to 1e-6 of the
 * largest entry. Fails the running test otherwise. */
void gradient_text_check(const char *what, const char *text, double lo, double hi);

/* Its gradient as a plan is the interpreter's, to 1e-9. */
void gradient_text_plan(const char *what, const char *text);

/* Differentiating @main fails, as unsupported, with these words. */
void gradient_text_refused(const char *text, const char *words);

#endif
