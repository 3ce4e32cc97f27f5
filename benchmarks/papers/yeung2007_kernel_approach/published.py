"""What Yeung and Chang (2007) say of their results.

The text that we have holds none of the numbers of Tables I to III, and Figures 3 and 4 are box
plots without numbers: what survives is what the paper concludes from them.
"""

NO_NUMBER = "no number of it survives in the text"

FIGURE_1 = "RCA cannot separate the classes, LLMA nearly, kernel-β and kernel-A do"
FIGURE_2 = "kernel-β and kernel-A give promising results"
FIGURE_3 = "above RCA"
FIGURE_3_MOONS = "promising"
FIGURE_4 = "generally above RCA"
TABLE_2_MPCK = "generally above the better MPCK-means"
TABLE_2_LLMA = "comparable with LLMA, or better"
TABLE_3 = "a kernel-based method is the best"
