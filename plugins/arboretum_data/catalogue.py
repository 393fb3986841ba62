"""The table of named data sets: one canonical content per name, whatever its source.

A name is looked for in the data home, then among bundled and generated sets, then on OpenML.  The checksum is that of
:meth:`arboretum.api.Table.sha256`; rows, kinds and spellings are part of it.  ``canonical.json`` holds
the column names and kinds that OpenML's copy of a set is brought to before its checksum is compared.
"""

from __future__ import annotations

import attrs

PAPERS = {
    "000": "Zhang & Gionis 2023: Regularized impurity reduction: accurate decision trees with complexity guarantees",
    "002": "Lin, Zhong, Hu, Rudin & Seltzer 2020: Generalized and scalable optimal sparse decision trees",
    "003": "Quinlan 1986: Induction of decision trees",
    "004": "Nan, Wang & Saligrama 2015: Max-cost discrete function evaluation problem under a budget",
}
"""Number used in this project → where a named data set is used."""

_VISITS = ("never", "less1", "1~3", "4~8", "gt8")
ORDERS: dict[str, dict[str, tuple[str, ...]]] = {
    "coupon": {
        "age": ("below21", "21", "26", "31", "36", "41", "46", "50plus"),
        "education": (
            "Some High School",
            "High School Graduate",
            "Some college; no degree",
            "Associates degree",
            "Bachelors degree",
            "Graduate degree (Masters Doctorate etc.)",
        ),
        "income": (
            "Less than $12500",
            "$12500 - $24999",
            "$25000 - $37499",
            "$37500 - $49999",
            "$50000 - $62499",
            "$62500 - $74999",
            "$75000 - $87499",
            "$87500 - $99999",
            "$100000 or More",
        ),
        "Bar": _VISITS,
        "CoffeeHouse": _VISITS,
        "CarryAway": _VISITS,
        "RestaurantLessThan20": _VISITS,
        "Restaurant20To50": _VISITS,
    },
    "diabetic": {
        "weight": (
            "[0-25)", "[25-50)", "[50-75)", "[75-100)", "[100-125)", "[125-150)", "[150-175)", "[175-200)", ">200",
        ),
    },
}  # fmt: skip
"""Orders of ordinal values that are text and that the manifest does not list."""


@attrs.frozen
class Entry:
    """One named data set.

    rows, sha256 : of the canonical content.   openml : OpenML's id of the set, None where there is none.
    openml_rows : keep the first so many rows of OpenML's copy.   unfetched : why OpenML is not asked ("" = it is).
    papers : keys of :data:`PAPERS`.   orders : see :data:`ORDERS`.
    """

    name: str
    rows: int
    sha256: str
    task: str = "classification"
    openml: int | None = None
    openml_rows: int | None = None
    unfetched: str = ""
    papers: tuple[str, ...] = ()
    orders: dict[str, tuple[str, ...]] = attrs.field(factory=dict)

    @property
    def paper(self) -> str:
        """The first paper here that uses it; "" for none."""
        return PAPERS[self.papers[0]] if self.papers else ""


# fmt: off
ENTRIES = (
    Entry(
        "iris", 150, "432adb5d272621b1f1e8aebe27d62b04bc504c451468699a8e50e1dcadd99f0c",
        openml=61, papers=("000", "002"),
    ),
    Entry(
        "ilpd", 583, "289b7df67ab64b46082e24216e7cffb9ab188d740d6f59f319f2fdcb81a30d81",
        openml=1480, unfetched="OpenML 1480 has the 4 missing values filled in", papers=("000",),
    ),
    Entry(
        "breast-w", 699, "ce1386f72b2f896a597ce831bd24d925f3e169116c01d8f4581fbb4b32182c73",
        openml=15, papers=("000",),
    ),
    Entry(
        "tic-tac-toe", 958, "3780ebaa397500fd72052b39c869485b66155db16793cbf1d7cff1b37c7e839a",
        openml=50, papers=("000", "002"),
    ),
    Entry(
        "obesity", 2111, "04fd3761f43a7e4c60ac301a45c8769080274ffaeec0ca1a8ba96c7eadff4465",
        unfetched="no OpenML id is known; UCI 544", papers=("000",),
    ),
    Entry(
        "bioresponse", 3751, "73318c1c34b20a5da43668d6ed418aa7dddfe1e90e9e7643f189466b045e72d6",
        openml=4134, papers=("000",),
    ),
    Entry(
        "spambase", 4601, "c4c62570cb2a6a0354b84c256af1624eb9fee70041dc7bdc017014466e58c8ab",
        openml=44, papers=("000",),
    ),
    Entry(
        "phoneme", 5404, "256b98fed637817b20f6f0f70e707a18704f251c96b7eb7658e412da1ab7b08f",
        openml=1489, papers=("000",),
    ),
    Entry(
        "musk", 6598, "70bcbb72cf95e419b78234661ca733ba428812798e1c16c5cf5cb9df0788dd10",
        openml=1116, papers=("000",),
    ),
    Entry(
        "speed-dating", 8378, "97288531a2e27384551df24d52995806418b0da0669992318dbd2f54976ce47f",
        openml=40536, papers=("000",),
    ),
    Entry(
        "phishing-websites", 11055, "eb0e55f39f7da8bb29ae7052e417901cf34659294b4c128f40642cd3229c0d82",
        openml=4534, papers=("000",),
    ),
    Entry(
        "shoppers", 12330, "2e5a7dc4a5760b5ce18172c2e0f332606b9b7b6c127137744e3969313a8196a0",
        openml=46947, papers=("000",),
    ),
    Entry(
        "letter", 20000, "46ca0ca98f5ea0443ca3f4f785d452f0d715b6c7bb6b0a71ca6ead6e156693cd",
        openml=6, papers=("000",),
    ),
    Entry(
        "default", 30000, "fab2864757d14eda07e2860c425c90058e8cbafbae5fdab0118216142b91abcb",
        openml=42477, papers=("000",),
    ),
    Entry(
        "bank-marketing", 45211, "87f9b82a728e83f627ba8efe3c6f7d8ef55a6e6b3d38a1f59a2096295fb86de1",
        openml=1461, papers=("000",),
    ),
    Entry(
        "electricity", 45312, "5f7f7c3716aead7bb1a3be9ba644d3b45ccde434b545a6c84b58656f4049f6b3",
        openml=151, papers=("000",),
    ),
    Entry(
        "firewall", 65532, "0531d71d9016b45f8725b60fb3612a23fda644f462973a85d8d414bcd1113f47",
        unfetched="no OpenML id is known; UCI 542", papers=("000",),
    ),
    Entry(
        "dota2", 92650, "14004d54b74717cddff116ba59aa1afc64ff4a4b58100404a6129458866ef509",
        openml=45563, unfetched="OpenML 45563 holds training and test part together (102944 rows)", papers=("000",),
    ),
    Entry(
        "dota2-test", 10294, "73be66233b9f89d41592db963ad1c9fbfc67c4af9a64f92097c357c4fe50c6eb",
        unfetched="OpenML has it only together with the training part",
    ),
    Entry(
        "diabetic", 101766, "8de08d0ce411348bdce1a1ba2381e7784ad2daf1cf2b97498120ed48ce57e976",
        openml=4541, papers=("000",), orders=ORDERS["diabetic"],
    ),
    Entry(
        "covertype", 581012, "44df37911c2f69c0542a81d56e5d9d8aa75d0e956c4de59793f1a789c896537d",
        openml=1596, papers=("000",),
    ),
    Entry(
        "monk1", 124, "af1395d8739dfad0e86e0bc7b1fffef49eb982c5a8f3edfcd5dad6a2c48c19cb",
        openml=333, openml_rows=124, papers=("002",),
    ),
    Entry("monk1-full", 432, "f035bb4b0160ef15016b1e4f3a51b215eb9c6205f05a38eb53e2ce9cab67e2ca"),
    Entry(
        "monk2", 169, "7a31531ff41102c03a78e3397dea0db83d21f5a4732e5d87fbf257c23bcd0666",
        openml=334, openml_rows=169, papers=("002",),
    ),
    Entry("monk2-full", 432, "7dc4c58c7efb31be74fb6830536228bc45b08e5f462b083fa6b85b369f2fab7b"),
    Entry(
        "monk3", 122, "d436c9887a70dd4b03d7cf59b11444fd9cffe24be9cf9f156cf3306596c05f1c",
        openml=335, openml_rows=122, papers=("002",),
    ),
    Entry("monk3-full", 432, "1ad3a8e8a53e063fb6d50bda7155be60c2783d51b1b99e5e983be6a475b5b636"),
    Entry(
        "balance-scale", 625, "3780ca78b0141f1ee370e15c09e02cd56f08815e280de79caeec71370258247f",
        openml=11, papers=("002",),
    ),
    Entry(
        "car", 1728, "1297a044a07f61f090bdd2544331acb3fd3126b9b19f6f20ea5d100954bec260",
        openml=21, papers=("002",),
    ),
    Entry(
        "car-gosdt", 1728, "277318f33e1fa40a9fb2306dfcf2045f10930bb65f0f13c3246c843682c7a68b",
        unfetched="it is the encoded table of the authors of paper 002, in their repository", papers=("002",),
    ),
    Entry(
        "fourclass", 862, "eecbd05be3e21cb802a474a205542bc65e810642e5284b05a584bf88694de5c8",
        unfetched="no OpenML id is known; it is in the LIBSVM collection", papers=("002",),
    ),
    Entry(
        "compas", 12381, "9e9ca90648682d55f4b64227856c696bc2c6dd3552392f75ea7da07d8a079bab",
        unfetched="it is the encoded table of the authors of paper 002, in their repository", papers=("002",),
    ),
    Entry(
        "compas-2016", 5020, "f84b1c10acb303f1fb8586176a2767e7e7f1878d423f03d700ca2997baa139b2",
        unfetched="it is the encoded table of the authors of paper 002, in their repository", papers=("002",),
    ),
    Entry(
        "compas-binary", 6907, "87872c9101a99743339289b2c07d2dfc7724ed4d53df074daf1671985b7456a5",
        unfetched="it is the encoded table of the authors of paper 002, in their repository", papers=("002",),
    ),
    Entry(
        "compas-two-year", 7214, "f10e121be054d0bf04d66aeb08090a17fc3ec9007ab446df966424cd644b925b",
        openml=42192, unfetched="OpenML 42192 keeps 5278 of the 7214 rows",
    ),
    Entry(
        "fico", 10459, "782d4c925b093c2084d2ecdc3a09845e126b534765b09dfda85f568c7c641ec1",
        openml=46932, papers=("002",),
    ),
    Entry(
        "fico-1000", 1000, "da764b5b15631a0ef9ae7eaa5e24cea9200ad3b9c783e057006114d534a4d635",
        unfetched="it is the encoded table of the authors of paper 002, in their repository", papers=("002",),
    ),
    Entry(
        "fico-binary", 10459, "614d233372d085c47a70d2e4574379df49fd9bc491ef008c26f7b14b787cf7f1",
        unfetched="it is the encoded table of the authors of paper 002, in their repository", papers=("002",),
    ),
    Entry(
        "coupon", 12684, "92d9a5043d7ecceeed367184df484c3d76a3bb26de2a14b91c8c5de3dc0e2a63",
        openml=46937, papers=("002",), orders=ORDERS["coupon"],
    ),
    Entry(
        "bar-7", 1913, "cd2f3595ad01464564fe99ba75d1d9812d782cc9712603a03c6bf8c5a4491241",
        unfetched="it is the encoded table of the authors of paper 002, in their repository", papers=("002",),
    ),
    Entry(
        "house-votes", 435, "6d514cac283361598f9ad0338b5e5f70f65537f9c3a259ba97de06cec40fce36",
        openml=56, papers=("004",),
    ),
    Entry(
        "sonar", 208, "1f760b2ee04004c65f7162682a11ccb2a46c9c94df929417d585d7d28ce0bf6c",
        openml=40, papers=("004",),
    ),
    Entry(
        "ionosphere", 351, "6e40bf5d3d59e651189b4d8c03da9c5aa2e1977ae9d4aa91c0d8348c4dddd4e8",
        openml=59, papers=("004",),
    ),
    Entry(
        "dna", 3186, "0a2036fe270e7cf778420993873c280c3633e4e792f0b6352e58aa7d8617b4cf",
        openml=40670, papers=("004",),
    ),
    Entry(
        "boston-housing", 506, "3b436f352fccd1a0ed9687c83b44da4c243adeff34790cffaf79de4dfeca3739",
        task="regression", openml=531,
    ),
    Entry(
        "boston-quartile", 506, "01b3e7bc845fe7c05f9e6046fffc01326ae12c2e6cddeb7b768bb09f7583a251",
        unfetched="the target is cut into quartiles; OpenML 531 holds the numbers", papers=("004",),
    ),
    Entry(
"soybean", 307, "2231c4cb1315430f053bf69fcc0d78472bf0b69cdb776df8cb229cc0fb1cbd68",
        openml=42, unfetched="OpenML 42 holds training and test part together (683 rows) with other spellings",
        papers=("004",),
    ),
    Entry(
"soybean-683", 683, "6c5bb4033a07d946c5295ebae4421878073a24ea85a9234226afa953034de4f8",
        openml=42, unfetched="OpenML 42 spells the values out",
    ),
    Entry(
        "pima", 768, "40d192c3e6b1be80ac78391dec062efef73e034ab6265e8c7b939b89f18258d1",
        openml=37, papers=("004",),
    ),
    Entry(
        "wdbc", 569, "b5f5907e0a3c7803563ecdbf7abb432aba85ff6be8bb4afc03e6e968ca6940a1",
        openml=1510, papers=("004",),
    ),
    Entry(
        "mammography", 830, "8f331de1a80d5b3b082fd95d80d42d57ee27a70e2a7be386952de95e739a298b",
        unfetched="no OpenML id is known; UCI 161", papers=("004",),
    ),
    Entry("play-tennis", 14, "c9982d10ddbff009f39df4c3ccdc93f1a84812cd38cbdbb40f870dd709019fc0", papers=("003",)),
    Entry(
        "dfep-synthetic", 1024, "ae4d03de36ae1b5f800f262dd479ec24a292f70bc21b14a2e218a306e5d46955",
        papers=("004",),
    ),
    Entry(
        "gosdt-fig1", 77, "801f666bc9b7090dab2b9b52db24918cf4aede5a621b67db38e8060e70cc8a0c",
        unfetched="it is the encoded table of the authors of paper 002, in their repository", papers=("002",),
    ),
    Entry("wine", 178, "e1b9b2e775d99846288d81a8d70e65c2297d9d8fca36ecc7bb4831b155b63aa1"),
    Entry("digits", 1797, "24484a3b18137efb25cf2b8c2a148ff3b124877eef087466a22018f4e3f63d00"),
    Entry("diabetes", 442, "0dda45790e997ca32ef20906c934abf70122ece6473be655bf5831eef9bd0669", task="regression"),
)
# fmt: on
