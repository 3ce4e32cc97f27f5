"""Where the outlook stops, and where ten more answers gain less than 0.005, by data set."""

from _shared import BLUE, GREY, ORANGE, panels

from benchmarks.published_tables import published

table = published("stopping/RESULTS.md", "Data sets (ITML)")
rows = sorted((row for row in table.rows if row[0] == "random"), key=lambda row: float(row[3]))
ax = panels(1, 6, 4.2)[0]
for place, row in enumerate(rows):
    enough, least, middle, most = map(float, row[3:7])
    ax.plot([enough, middle], [place, place], color=GREY, lw=0.8, zorder=0)
    reach = [[middle - least], [most - middle]]
    ax.errorbar(middle, place, xerr=reach, fmt="o", color=BLUE, capsize=2)
    ax.plot(enough, place, "x", color=ORANGE, ms=8, mew=2)
ax.set_yticks(
    range(len(rows)), [row[1].replace("_counts", "").replace("_", " ") for row in rows], fontsize=8
)
ax.set(xscale="log", xlim=(8, 400), xlabel="answers: enough by the true curve (cross), stop (dot)")
ax.set_xticks([10, 30, 100, 300], [10, 30, 100, 300])
ax.minorticks_off()
